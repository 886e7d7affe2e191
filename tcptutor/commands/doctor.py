"""`tcptutor doctor`: check this machine and print a remedy for each problem."""

from __future__ import annotations

import msgspec

from tcptutor.base.columns import table
from tcptutor.commands.output import Tone, print_json, print_lines, toned, width
from tcptutor.install.doctor import diagnose
from tcptutor.install.findings import Finding

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
        names = max(len(finding.name) for finding in diagnosis.findings)
        for finding in diagnosis.findings:
            print_lines(_lines(finding, names))
    return 0 if diagnosis.ok else _NO_LAB


def _lines(finding: Finding, names: int) -> list[str]:
    """Format a finding, folded to the terminal except for its remedy, which is meant to be copied."""
    room = width()
    status = toned(finding.status, _TONES[finding.status])
    row = (status, finding.name, finding.text)
    lines = table([row], (4, names), indent=0, fold=room is not None, width=room or 0)
    if finding.remedy:
        lines += table([("", "", f"to do: {finding.remedy}")], (4, names), indent=0)
    return lines
