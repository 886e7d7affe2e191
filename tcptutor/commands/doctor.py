"""`tcptutor doctor`: what works on this machine, line by line, and what to do about what does not."""

from __future__ import annotations

import msgspec

from tcptutor.commands.output import print_json
from tcptutor.install.doctor import diagnose
from tcptutor.install.report import console

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_NO_LAB = 3


def report_machine(as_json: bool) -> int:
    """The exit code: 0 when the course can run here, 3 when it cannot."""
    diagnosis = diagnose()
    if as_json:
        backends = {"host": diagnosis.host, "guest": diagnosis.guest}
        findings = msgspec.to_builtins(diagnosis.findings)
        print_json({"findings": findings, "backends": backends, "ok": diagnosis.ok})
    else:
        out = console()
        width = max(len(finding.name) for finding in diagnosis.findings)
        for finding in diagnosis.findings:
            out.print(f"{finding.status:<5}", style=_COLOURS[finding.status], end="")
            out.print(f"{finding.name:<{width}}  {finding.text}")
            if finding.remedy:
                out.print(f"{'':<{5 + width}}  to do: {finding.remedy}")
    return 0 if diagnosis.ok else _NO_LAB
