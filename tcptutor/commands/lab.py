"""`tcptutor lab`: what this machine's lab is made of, and a file that carries it to others."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from itertools import product
from pathlib import Path

from tcptutor.backends.guest import composition, lab_file, sizes
from tcptutor.backends.guest.architecture import chosen
from tcptutor.backends.guest.machine import Mode
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.base.errors import LabUnavailable, TutorError, UsageError
from tcptutor.commands.output import print_json, print_lines, warn
from tcptutor.commands.targets import check_targets
from tcptutor.exchange import kept_runs, open_run
from tcptutor.run import Environment, lab_parts, load

_LONG = 100
"""From so many characters on a value is told by the beginning of its digest."""
_SHORT = 16


def show_lab(name: str | None, as_json: bool, everything: bool) -> int:
    """The exit code; `everything`: with what only explains the rest. Raises LabUnavailable where there is no lab,
    TutorError for a run that cannot be opened.
    """
    if name is None:
        here = _here("virtual")
        if as_json:
            print_json({"fingerprint": lab_parts.fingerprint(here), "parts": here})
        else:
            print_lines(_told(here, everything))
        return 0
    where = _environment(name)
    try:
        like: Mapping[str, str] = _here_like(where)
    except LabUnavailable:
        like = {}
    if as_json:
        print_json(
            {
                "fingerprint": lab_parts.fingerprint(where.lab),
                "parts": where.lab,
                "here": lab_parts.fingerprint(like),
                "differences": [part._asdict() for part in lab_parts.differences(like, where.lab)]
                if like
                else [],
            }
        )
    else:
        print_lines([*_told(where.lab, everything), *_beside(where, like)])
    return 0


def _beside(where: Environment, like: Mapping[str, str]) -> list[str]:
    """What the lab of a run is to the one here, which is `like` it."""
    if not like:
        return ["here is no lab to compare it with: run `tcptutor setup`"]
    if lab_parts.fingerprint(like) != lab_parts.fingerprint(where.lab):
        return [
            "the lab here is another one: equal runs agree within chance. They differ in",
            *(f"  {part}" for part in lab_parts.differences(like, where.lab)),
        ]
    if where.snapshot == lab_parts.fingerprint(where.lab):
        return ["the lab here is of the same parts: equal runs are equal to the byte"]
    return ["the lab here is of the same parts; this run is not one that can be repeated to the byte"]


def pack_lab(target: str, replace: bool) -> int:
    """The exit code. Raises TutorError where there is no whole image, or it cannot be written."""
    path = Path(target)
    check_targets([path], [], replace=replace, elsewhere="give another name")
    lab_file.pack(Snapshots().image, path)
    print_lines([f"wrote {path}, {units.size(path.stat().st_size)}: `tcptutor setup --from {path}` takes it"])
    return 0


def lab_of(name: str) -> Mapping[str, str]:
    """The parts of the lab of that fingerprint, or of the run that `name` means. Raises UsageError."""
    with contextlib.suppress(LabUnavailable):
        here = _here("virtual")
        if lab_parts.fingerprint(here) == name:
            return here
    for path in kept_runs(warn):
        try:
            found = load(path).environment.lab
        except TutorError:
            continue
        if lab_parts.fingerprint(found) == name:
            return found
    try:
        return _environment(name).lab
    except UsageError as error:
        raise UsageError(f"no run here is of a lab {name!r}: give a run file that is, or its id") from error


def _environment(name: str) -> Environment:
    """Of the run that `name` means, whose lab is known. Raises UsageError."""
    run, path = open_run(name, warn)
    if not run.environment.lab:
        raise UsageError(f"{path} does not say what its lab was made of: only later runs in a guest do")
    return run.environment


def _here(clock: str, memory: int = sizes.DEFAULT_SIZE, kvm: bool = False) -> Mapping[str, str]:
    """Raises LabUnavailable where there is none."""
    snapshots = Snapshots(memory=memory)
    snapshots.image.check()
    return snapshots.composition(clock, kvm)


def _here_like(where: Environment) -> Mapping[str, str]:
    """The lab here of the same clock and size as that one: a guest has its memory by what it is to hold."""
    machine, clock = where.lab.get("machine"), where.clock
    for memory, kvm in product(sizes.SIZES, (False, True)):
        if composition.machine_command(chosen(), Mode(clock, kvm, exact=True, memory=memory)) == machine:
            return _here(clock, memory, kvm)
    return _here(clock)


def _told(parts: Mapping[str, str], everything: bool) -> list[str]:
    shown = {
        name: value
        for name, value in parts.items()
        if everything or not name.startswith(lab_parts.EXPLAINING)
    }
    rows = [(name, value if len(value) < _LONG else _digest(value)) for name, value in shown.items()]
    lines = [f"lab {lab_parts.fingerprint(parts)}", *table(rows, (max(len(name) for name, _ in rows),))]
    if left := len(parts) - len(shown):
        lines.append(f"  and {left} packages and tools that it comes from: --all tells them")
    return lines


def _digest(value: str) -> str:
    """The beginning of it where it is one, else that of its own."""
    digest = value if len(value) == 64 and " " not in value else hashlib.sha256(value.encode()).hexdigest()
    return f"{digest[:_SHORT]}..."
