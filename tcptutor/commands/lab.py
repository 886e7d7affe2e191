"""`tcptutor lab`: what this machine's lab is made of, and a file that carries it to others."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from tcptutor import units
from tcptutor.backends.guest import lab_file
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.columns import table
from tcptutor.commands.output import print_json, print_lines, warn
from tcptutor.commands.targets import check_targets
from tcptutor.errors import LabUnavailable, TutorError, UsageError
from tcptutor.exchange import kept_runs, open_run
from tcptutor.install.wanted import compared
from tcptutor.run import lab, load

_SHORT = 16
"""Characters of a digest that are shown."""
_DIGEST = 64


def show_lab(name: str | None, as_json: bool) -> int:
    """The exit code. Raises LabUnavailable where there is none, TutorError for a run that cannot be opened."""
    if name is None:
        here = _here()
        if as_json:
            print_json({"fingerprint": lab.fingerprint(here), "parts": here})
        else:
            print_lines(_told(here))
        return 0
    there = _of_run(name)
    try:
        here = _here()
    except LabUnavailable:
        here = {}
    different = lab.differences(here, there) if here else []
    if as_json:
        print_json(
            {
                "fingerprint": lab.fingerprint(there),
                "parts": there,
                "here": lab.fingerprint(here),
                "differences": [part._asdict() for part in different],
            }
        )
        return 0
    print_lines(_told(there))
    if not here:
        print_lines(["here is no lab to compare it with: run `tcptutor setup`"])
    elif lab.fingerprint(here) == lab.fingerprint(there):
        print_lines(["the lab here is the same: equal runs are equal to the byte"])
    else:
        print_lines(["the lab here is another one: equal runs agree within chance. They differ in"])
        print_lines(list(compared(here, there)))
    return 0


def pack_lab(target: str, replace: bool) -> int:
    """The exit code. Raises TutorError where there is no whole image, or it cannot be written."""
    path = Path(target)
    check_targets([path], [], replace=replace, elsewhere="give another name")
    image = Snapshots().image
    lab_file.write(image, path)
    print_lines([f"wrote {path}, {units.size(path.stat().st_size)}: `tcptutor setup --from {path}` takes it"])
    return 0


def lab_of(name: str) -> Mapping[str, str]:
    """The parts of the lab of that fingerprint, or of the run that `name` means. Raises UsageError."""
    with contextlib.suppress(LabUnavailable):
        here = _here()
        if lab.fingerprint(here) == name:
            return here
    for path in kept_runs(warn):
        try:
            found = load(path).environment.lab
        except TutorError:
            continue
        if lab.fingerprint(found) == name:
            return found
    try:
        return _of_run(name)
    except UsageError as error:
        raise UsageError(f"no run here is of a lab {name!r}: give a run file that is, or its id") from error


def _of_run(name: str) -> Mapping[str, str]:
    run, path = open_run(name, warn)
    if not run.environment.lab:
        raise UsageError(f"{path} does not say what its lab was made of: only later runs in a guest do")
    return run.environment.lab


def _here() -> Mapping[str, str]:
    """Raises LabUnavailable where there is none."""
    snapshots = Snapshots()
    snapshots.image.check()
    return snapshots.composition("virtual")


def _is_digest(value: str) -> bool:
    return len(value) == _DIGEST and " " not in value


def _told(parts: Mapping[str, str]) -> list[str]:
    rows = [(name, value[:_SHORT] if _is_digest(value) else value) for name, value in parts.items()]
    return [f"lab {lab.fingerprint(parts)}", *table(rows, (max(len(name) for name, _ in rows),))]
