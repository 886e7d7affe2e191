"""Everything that writes a file where the user says, tried in some folders: prints what each says in each, as JSON.

`python -m tests.faults.writers FOLDER NAME...`: the files in FOLDER are called NAME and have each writer's suffix.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from tcptutor import run, spec
from tcptutor.base.errors import TutorError
from tcptutor.exchange import export, plot
from tcptutor.runs.store import RunStore
from tcptutor.sweep.results_file import Store
from tests.sweep.made import definition_of


def _run(name: str) -> run.Run:
    return run.Run(
        id=name,
        experiment=spec.build("m/e", {}),
        environment=run.Environment(backend="host", clock="real", kernel="6.1"),
        started="2026-01-01T00:00:00+00:00",
        complete=True,
    )


def _export(exported: run.Run, target: Path) -> None:
    for file in export.export_files(exported, Path("x"), "json", target):
        file.write()


WRITERS: dict[str, Callable[[Path, str], object]] = {
    "run": lambda folder, name: run.save(_run(name), folder / f"{name}.tcprun"),
    "journal": lambda folder, name: RunStore(folder).finish(_run(name)),
    "export": lambda folder, name: _export(_run(name), folder / f"{name}.json"),
    "plot": lambda folder, name: plot.save(Figure(), folder / f"{name}.svg"),
    "sweep": lambda folder, name: Store(folder / f"{name}.tcpsweep", definition_of("loss=1%..30%/200")),
}


def _said(folder: Path, name: str) -> dict[str, str]:
    said = {}
    for writer, write in WRITERS.items():
        try:
            write(folder, name)
        except TutorError as error:
            said[writer] = str(error)
    return said


def main() -> None:
    words = sys.argv[1:]
    print(
        json.dumps([_said(Path(folder), name) for folder, name in zip(words[::2], words[1::2], strict=True)])
    )


if __name__ == "__main__":
    main()
