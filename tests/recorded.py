"""The recorded runs that ship with tcptutor: `python -m tests.recorded` makes them again.

It runs the experiment of every page of the course in the guest on the virtual clock, thins the samples to what a chart
shows, and writes assets/recorded/MODULE/STEP.tcprun. What the whole run was explained with goes to tests/recorded.json,
against which the thinned ones are tested. `python -m tests.recorded MODULE` makes those of one module.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import msgspec

from tcptutor.analysis import report
from tcptutor.backends import replay
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.course import load
from tcptutor.run import Run, SampleTable, save
from tcptutor.spec import Experiment
from tests.backends.play import play

COMMAND = "python -m tests.recorded"
EXPECTED = Path(__file__).with_suffix(".json")
HZ = 20
"""Samples of each flow in a second that a recording keeps."""


def uses() -> dict[str, Experiment]:
    """The experiments that pages run, by MODULE/STEP of the first page that does."""
    found: dict[str, Experiment] = {}
    for module in load().modules:
        for step in module.steps:
            if step.experiment is None:
                continue
            wanted = step.experiment.experiment
            if not any(replay.same(wanted, other) for other in found.values()):
                found[f"{module.id}/{step.id}"] = wanted
    return found


def explanation(run: Run) -> list[object]:
    """What the analysis says of `run`: the binding model, whether it holds, what limited the run."""
    result = report(run)
    binding = result.compared[0]
    return [binding.prediction.model, binding.within, result.verdict.limited_by]


def thinned(run: Run) -> Run:
    """`run` with HZ samples a second of each flow, the last one of each among them, and without noise digits."""
    last: dict[int, int] = {}
    kept = []
    final = {sample.flow: sample.t for sample in run.samples}
    for sample in run.samples:
        step = int(sample.t * HZ + 0.01)
        if last.get(sample.flow) != step or sample.t == final[sample.flow]:
            last[sample.flow] = step
            kept.append(
                msgspec.structs.replace(
                    sample,
                    t=round(sample.t, 4),
                    delivery_rate=float(f"{sample.delivery_rate:.3g}"),
                    pacing_rate=float(f"{sample.pacing_rate:.3g}"),
                )
            )
    queue = run.queue[:: max(1, round(len(run.queue) / (HZ * run.experiment_s or 1)))]
    return msgspec.structs.replace(run, samples=SampleTable(kept), queue=queue)


async def _record(experiment: Experiment) -> Run:
    backend = GuestBackend("virtual")
    try:
        return await play(backend, experiment)
    finally:
        await backend.close()


def main() -> None:
    wanted = uses()
    chosen = [name for name in wanted if not sys.argv[1:] or name.partition("/")[0] in sys.argv[1:]]
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    expected = {name: told for name, told in expected.items() if name in wanted}
    root = replay.folder()
    for old in root.glob("*/*.tcprun"):
        if str(old.relative_to(root).with_suffix("")) not in wanted:
            old.unlink()
    for name in chosen:
        run = asyncio.run(_record(wanted[name]))
        if run.fidelity.status != "valid":
            sys.exit(f"{name}: the run is {run.fidelity.status}: {'; '.join(run.fidelity.reasons)}")
        expected[name] = explanation(run)
        file = root / f"{name}.tcprun"
        save(thinned(run), file)
        print(
            f"{name}: {run.wall_s:.0f} s, {file.stat().st_size / 1000:.0f} KB, {expected[name]}", flush=True
        )
    lines = (f"  {json.dumps(name)}: {json.dumps(expected[name])}" for name in sorted(expected))
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
