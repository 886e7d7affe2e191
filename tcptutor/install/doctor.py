"""Diagnosis of this machine for the lab, as a list of findings with remedies."""

from __future__ import annotations

import shutil
from typing import NamedTuple

from tcptutor.base.drawing import can_draw, install_command
from tcptutor.install import (
    check_guest,
    check_host,
    check_terminal,
    guest_parts,
    kvm,
    namespace_limits,
    packages,
    system,
)
from tcptutor.install.findings import Finding, fail, ok, warn


class Diagnosis(NamedTuple):
    """Findings about this machine, and where the course can run."""

    findings: list[Finding]
    """Findings, ending with where the lab runs."""
    host: bool
    """Whether the course can run on this machine's own kernel."""
    guest: bool
    """Whether the course can run in the guest."""

    @property
    def ok(self) -> bool:
        """Whether the course can run here at all."""
        return self.host or self.guest


def diagnose() -> Diagnosis:
    """Run all checks. A missing feature is a finding, never an exception."""
    here = system.here()
    environment, why = check_host.probe_kernel()
    kernel, host = check_host.check_kernel(here, environment, why)
    guest_lines, guest = check_guest.check(guest_parts.snapshots_here())
    # A kernel that could not be probed gets the benefit of the doubt.
    netem = environment is None or "netem" in environment.qdiscs
    findings = [
        check_host.check_system(here),
        *check_host.check_wsl(here.wsl, netem, kvm.DEVICE.exists()),
        *check_host.check_programs(packages.missing()),
        *check_host.check_namespaces(namespace_limits.read()),
        kernel,
        *guest_lines,
        *check_terminal.check_terminal(),
        *check_extras(),
    ]
    return Diagnosis([*findings, _lab(host, guest, complete=kernel.status == "ok")], host, guest)


def check_extras() -> list[Finding]:
    """Check optional programs: matplotlib for plots, and tmux for the tests in a terminal."""
    plots = ok("plots", "matplotlib is installed")
    if not can_draw():
        plots = warn("plots", "`tcptutor plot` and --plot need matplotlib", install_command())
    tmux = ok("tmux", "installed, for the tests")
    if not shutil.which("tmux"):
        remedy = f"as root: {packages.install_command(['tmux'])}"
        tmux = warn("tmux", "missing: the tests of the app in a terminal cannot run; the course can", remedy)
    return [plots, tmux]


def _lab(host: bool, guest: bool, complete: bool) -> Finding:
    """Return where experiments run; `complete` means that this machine's kernel has every feature the course needs."""
    if guest and not complete:
        return ok("lab", "experiments run in the guest")
    if host:
        missing = "" if complete else ", except those that need a missing feature"
        more = ", and in the guest" if guest else "; there is no guest"
        return ok("lab", f"experiments run on this machine's kernel{missing}{more}")
    return fail("lab", "experiments cannot run here yet", "run `tcptutor setup`, then `tcptutor doctor`")
