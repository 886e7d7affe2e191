"""`tcptutor doctor`: what works on this machine, line by line, and what to do about what does not."""

from __future__ import annotations

import msgspec

from tcptutor.base.columns import table
from tcptutor.commands.output import Tone, print_json, print_lines, toned, width
from tcptutor.install.doctor import diagnose
from tcptutor.install.report import Finding

_TONES: dict[str, Tone] = {"ok": "good", "warn": "doubt", "fail": "bad"}
_NO_LAB = 3


def report_machine(as_json: bool) -> int:
    """The exit code: 0 when the course can run here, 3 when it cannot."""
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
    """On a terminal in lines of its width; a remedy stays whole, to be copied."""
    room = width()
    status = toned(finding.status, _TONES[finding.status])
    said = (status, finding.name, finding.text)
    lines = table([said], (4, names), indent=0, fold=room is not None, width=room or 0)
    if finding.remedy:
        lines += table([("", "", f"to do: {finding.remedy}")], (4, names), indent=0)
    return lines
