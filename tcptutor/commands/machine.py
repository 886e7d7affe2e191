"""`tcptutor lab`, `setup` and `doctor`: the lab of this machine, its installation and its diagnosis."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import msgspec

from tcptutor.backends.guest import sizes, snapshots
from tcptutor.backends.guest.architecture import chosen
from tcptutor.backends.guest.machine import Mode
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.columns import table
from tcptutor.base.errors import LabUnavailable, TutorError, UsageError
from tcptutor.base.sizes import decimal
from tcptutor.commands.names import open_run
from tcptutor.commands.output import Tone, print_json, print_lines, toned, warn, width
from tcptutor.commands.targets import check_targets
from tcptutor.exchange import saved_runs
from tcptutor.install.doctor import diagnose
from tcptutor.install.findings import Finding
from tcptutor.install.setup import run_setup
from tcptutor.install.setup_plan import TargetLab
from tcptutor.run import Environment, lab_parts, load

_MAX_VALUE = 100
"""Length from which a value is shown as the beginning of its digest."""
_DIGEST_LENGTH = 16


def show_lab(name: str | None, as_json: bool, everything: bool) -> int:
    """Print the parts of the lab, or compare a run's lab with it, and return the exit code.

    Args:
        name: A run, or None for this machine's lab.
        as_json: Print JSON.
        everything: Include parts that only explain others.

    Raises:
        LabUnavailable: This machine has no lab.
        TutorError: The run cannot be opened.
    """
    if name is None:
        parts = _local_lab("virtual")
        if as_json:
            print_json({"fingerprint": lab_parts.fingerprint(parts), "parts": parts})
        else:
            print_lines(_lines(parts, everything))
        return 0
    where = _environment_with_lab(name)
    try:
        like: Mapping[str, str] = _similar_local_lab(where)
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
        print_lines([*_lines(where.lab, everything), *_comparison(where, like)])
    return 0


def _comparison(where: Environment, like: Mapping[str, str]) -> list[str]:
    """Compare a run's lab with `like`, the lab here of the same size."""
    if not like:
        return ["this machine has no lab to compare with: run `tcptutor setup`"]
    if lab_parts.fingerprint(like) != lab_parts.fingerprint(where.lab):
        return [
            "the lab here differs, so equal runs agree only within chance. Differences:",
            *(f"  {part}" for part in lab_parts.differences(like, where.lab)),
        ]
    if where.snapshot == lab_parts.fingerprint(where.lab):
        return ["the lab here has the same parts: equal runs are identical"]
    return ["the lab here has the same parts, but this run cannot be reproduced exactly"]


def pack_lab(target: str, replace: bool) -> int:
    """Pack the guest and return the exit code. Raises TutorError if the image is incomplete or cannot be written."""
    path = Path(target)
    check_targets([path], [], replace=replace, elsewhere="give another name")
    Snapshots().image.pack(path)
    print_lines(
        [f"wrote {path}, {decimal(path.stat().st_size)}: install it with `tcptutor setup --from {path}`"]
    )
    return 0


def find_lab(name: str) -> Mapping[str, str]:
    """Return the parts of the lab with that fingerprint, or of the run `name`. Raises UsageError."""
    with contextlib.suppress(LabUnavailable):
        parts = _local_lab("virtual")
        if lab_parts.fingerprint(parts) == name:
            return parts
    for path in saved_runs(warn):
        try:
            parts = load(path).environment.lab
        except TutorError:
            continue
        if lab_parts.fingerprint(parts) == name:
            return parts
    try:
        return _environment_with_lab(name).lab
    except UsageError as error:
        raise UsageError(
            f"no stored run is from the lab {name!r}: name a run file from it, or a run's id"
        ) from error


def _environment_with_lab(name: str) -> Environment:
    run, path = open_run(name)
    if not run.environment.lab:
        raise UsageError(f"{path} does not record the parts of its lab: only newer runs in a guest do")
    return run.environment


def _local_lab(clock: str, memory: int = sizes.DEFAULT_SIZE, kvm: bool = False) -> Mapping[str, str]:
    """Return the parts of this machine's lab. Raises LabUnavailable without a lab."""
    snapshots = Snapshots(memory=memory)
    snapshots.image.check()
    return snapshots.composition(clock, kvm)


def _similar_local_lab(where: Environment) -> Mapping[str, str]:
    """Return the lab here with the clock and memory of `where`: guests differ in memory."""
    machine, clock = where.lab.get("machine"), where.clock
    for memory, kvm in product(sizes.SIZES, (False, True)):
        if snapshots.machine_command(chosen(), Mode(clock, kvm, exact=True, memory=memory)) == machine:
            return _local_lab(clock, memory, kvm)
    return _local_lab(clock)


def _lines(parts: Mapping[str, str], everything: bool) -> list[str]:
    shown = {
        name: value
        for name, value in parts.items()
        if everything or not name.startswith(lab_parts.EXPLAINING)
    }
    rows = [
        (name, value if len(value) < _MAX_VALUE else _short_digest(value)) for name, value in shown.items()
    ]
    lines = [f"lab {lab_parts.fingerprint(parts)}", *table(rows, (max(len(name) for name, _ in rows),))]
    if left := len(parts) - len(shown):
        lines.append(f"  and {left} packages and tools that it was built from: --all shows them")
    return lines


def _short_digest(value: str) -> str:
    digest = value if len(value) == 64 and " " not in value else hashlib.sha256(value.encode()).hexdigest()
    return f"{digest[:_DIGEST_LENGTH]}..."


def set_up(assume_yes: bool, again: bool, source: str | None, like: str | None) -> int:
    """Set up this machine and return the exit code. Raises TutorError when setup cannot continue.

    Args:
        assume_yes: Skip confirmations.
        again: Rebuild an existing guest.
        source: A packed lab.
        like: A run, or a lab's fingerprint.
    """
    if source is not None and like is not None:
        raise UsageError("--from and --lab both choose the lab: use only one of them")
    target = TargetLab(Path(source) if source else None, find_lab(like) if like else {})
    return run_setup(lambda line: print_lines([line]), warn, assume_yes, again, target)


_TONES: dict[str, Tone] = {"ok": "good", "warn": "doubt", "fail": "bad"}
_NO_LAB = 3


def report_machine(as_json: bool) -> int:
    """Print the diagnosis and return the exit code: 0 when the course can run here, otherwise 3."""
    diagnosis = diagnose()
    if as_json:
        backends = {"host": diagnosis.host, "guest": diagnosis.guest}
        findings = msgspec.to_builtins(diagnosis.findings)
        print_json({"findings": findings, "backends": backends, "ok": diagnosis.ok})
    else:
        print_findings(diagnosis.findings)
    return 0 if diagnosis.ok else _NO_LAB


def print_findings(findings: Sequence[Finding]) -> None:
    """Print each finding, and its remedy on a line below."""
    names = max((len(finding.name) for finding in findings), default=0)
    for finding in findings:
        print_lines(_finding_lines(finding, names))


def _finding_lines(finding: Finding, names: int) -> list[str]:
    """Format a finding, folded to the terminal except for its remedy, which is meant to be copied."""
    room = width()
    status = toned(finding.status, _TONES[finding.status])
    row = (status, finding.name, finding.text)
    lines = table([row], (4, names), indent=0, fold=room is not None, width=room or 0)
    if finding.remedy:
        lines += table([("", "", f"to do: {finding.remedy}")], (4, names), indent=0)
    return lines
