"""`tcptutor doctor`: what works on this machine, line by line, and what to do about what does not."""

from __future__ import annotations

import msgspec

from tcptutor.columns import table
from tcptutor.commands.output import Tone, print_json, print_lines, toned
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
        rows = [row for finding in diagnosis.findings for row in _rows(finding)]
        print_lines(table(rows, indent=0))
    return 0 if diagnosis.ok else _NO_LAB


def _rows(finding: Finding) -> list[tuple[str, str, str]]:
    said = [(toned(finding.status, _TONES[finding.status]), finding.name, finding.text)]
    return [*said, ("", "", f"to do: {finding.remedy}")] if finding.remedy else said
