"""`tcptutor doctor`: what this machine has for the lab, line by line, and what to do about what it has not."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from tcptutor.install import build, check_guest, check_host, check_terminal, kvm, limits, needs, system, wsl
from tcptutor.install.finding import Finding, fail, ok
from tcptutor.install.say import console

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "bold red"}
_NO_LAB = 3


class Report(NamedTuple):
    findings: list[Finding]
    host: bool
    """Whether the course can run on this machine's own kernel."""
    guest: bool
    """Whether it can run in the guest."""

    @property
    def ok(self) -> bool:
        return self.host or self.guest


def examine() -> Report:
    """Look at everything. Never raises for what is missing."""
    here = system.here()
    environment, why = check_host.look_at_kernel()
    kernel, host = check_host.check_kernel(here, environment, why)
    guest_lines, guest = check_guest.check(build.here())
    # Nothing is said against a kernel that could not be tried.
    netem = environment is None or "netem" in environment.qdiscs
    findings = [
        check_host.check_system(here),
        *wsl.check(here.wsl, netem, kvm.DEVICE.exists()),
        *check_host.check_tools(needs.missing()),
        *check_host.check_namespaces(limits.read()),
        kernel,
        *guest_lines,
        *check_terminal.check_terminal(),
    ]
    return Report([*findings, _lab(host, guest)], host, guest)


def _lab(host: bool, guest: bool) -> Finding:
    if host:
        return ok(
            "lab",
            "experiments run on this machine's kernel"
            + (", and in the guest" if guest else "; there is no guest"),
        )
    if guest:
        return ok("lab", "experiments run in the guest")
    return fail("lab", "experiments cannot run here yet", "run `tcptutor setup`, then this again")


def diagnose() -> list[Finding]:
    """The findings, the last of which says where the lab runs."""
    return examine().findings


def run_doctor(as_json: bool = False) -> int:
    """Print the report, and give the exit code: 0 when the course can run here, 3 when it cannot."""
    report = examine()
    out = console()
    if as_json:
        backends = {"host": report.host, "guest": report.guest}
        out.out(
            msgspec.json.encode(
                {"findings": report.findings, "backends": backends, "ok": report.ok}
            ).decode(),
            highlight=False,
        )
    else:
        width = max(len(finding.name) for finding in report.findings)
        for finding in report.findings:
            out.print(f"{finding.status:<5}", style=_COLOURS[finding.status], end="")
            out.print(f"{finding.name:<{width}}  {finding.text}")
            if finding.remedy:
                out.print(f"{'':<{5 + width}}  to do: {finding.remedy}")
    return 0 if report.ok else _NO_LAB
