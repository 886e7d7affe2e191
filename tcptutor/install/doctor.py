"""What this machine has for the lab, line by line, and what to do about what it has not."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.install import (
    check_extras,
    check_guest,
    check_host,
    check_terminal,
    kvm,
    limits,
    packages,
    parts,
    system,
)
from tcptutor.install.report import Finding, fail, ok


class Diagnosis(NamedTuple):
    """What this machine has for the lab."""

    findings: list[Finding]
    """The last one says where the lab runs."""
    host: bool
    """Whether the course can run on this machine's own kernel."""
    guest: bool
    """Whether the course can run in the guest."""

    @property
    def ok(self) -> bool:
        """Whether the course can run here at all."""
        return self.host or self.guest


def diagnose() -> Diagnosis:
    """Look at everything. Never raises for what is missing."""
    here = system.here()
    environment, why = check_host.probe_kernel()
    kernel, host = check_host.check_kernel(here, environment, why)
    guest_lines, guest = check_guest.check(parts.snapshots_here())
    # Nothing is said against a kernel that could not be tried.
    netem = environment is None or "netem" in environment.qdiscs
    findings = [
        check_host.check_system(here),
        *check_host.check_wsl(here.wsl, netem, kvm.DEVICE.exists()),
        *check_host.check_programs(packages.missing()),
        *check_host.check_namespaces(limits.read()),
        kernel,
        *guest_lines,
        *check_terminal.check_terminal(),
        *check_extras.check_extras(),
    ]
    return Diagnosis([*findings, _lab(host, guest, whole=kernel.status == "ok")], host, guest)


def _lab(host: bool, guest: bool, whole: bool) -> Finding:
    """Return where experiments run; `whole`: this machine's kernel has all that the course needs."""
    if guest and not whole:
        return ok("lab", "experiments run in the guest")
    if host:
        missing = "" if whole else ", except those that need what it lacks"
        more = ", and in the guest" if guest else "; there is no guest"
        return ok("lab", f"experiments run on this machine's kernel{missing}{more}")
    return fail("lab", "experiments cannot run here yet", "run `tcptutor setup`, then this again")
