"""Diagnosis of this machine for the lab, as a list of findings with remedies; its checks of the terminal and extras."""

from __future__ import annotations

import asyncio
import contextlib
import curses
import os
import shutil
import sys
from collections.abc import Mapping
from typing import NamedTuple

from rich.console import Console

from tcptutor.backends import selection
from tcptutor.base.glyphs import locale_encoding
from tcptutor.base.places import has_matplotlib, matplotlib_command
from tcptutor.install import check_guest, check_host, guest_parts, packages
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
    here = packages.this_system()
    environment, why = asyncio.run(selection.host_environment(fresh=True))
    kernel, host = check_host.check_kernel(here, environment, why)
    guest_lines, guest = check_guest.check(guest_parts.snapshots_here())
    # A kernel that could not be probed gets the benefit of the doubt.
    netem = environment is None or "netem" in environment.qdiscs
    findings = [
        check_host.check_system(here),
        *check_host.check_wsl(here.wsl, netem, check_guest.KVM_DEVICE.exists()),
        *check_host.check_programs(packages.missing()),
        *check_host.check_namespaces(check_host.read_limits()),
        kernel,
        *guest_lines,
        *check_terminal(),
        *check_extras(),
    ]
    return Diagnosis([*findings, _lab(host, guest, complete=kernel.status == "ok")], host, guest)


def check_extras() -> list[Finding]:
    """Check optional programs: matplotlib for plots, and tmux for the tests in a terminal."""
    plots = ok("plots", "matplotlib is installed")
    if not has_matplotlib():
        plots = warn("plots", "`tcptutor plot` and --plot need matplotlib", matplotlib_command())
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


_SMALLEST = (80, 24)
_WIDE = 100


def check_terminal() -> list[Finding]:
    """Check the terminal, even if only one standard stream is connected to it, and the locale."""
    return [_terminal(), locale_finding(os.environ)]


def _terminal() -> Finding:
    here = next((each.fileno() for each in (sys.stdout, sys.stderr, sys.stdin) if each.isatty()), None)
    if here is None:
        return warn(
            "terminal", "none", "the app needs one (over SSH: ssh -t); `tcptutor run ... --json` does not"
        )
    kind = os.environ.get("TERM", "")
    if kind in ("", "dumb", "unknown"):
        return warn("terminal", f"TERM is {kind or 'not set'}", "export TERM=xterm-256color")
    size = os.get_terminal_size(here)
    colors = _color_count(kind, here)
    text = f"{kind}, {size.columns} x {size.lines}, {colors} colors"
    if size.columns < _SMALLEST[0] or size.lines < _SMALLEST[1]:
        return warn(
            "terminal",
            text,
            f"make it larger: {_SMALLEST[0]} x {_SMALLEST[1]} at least, {_WIDE} columns for a chart next to the text",
        )
    if kind == "linux":
        return warn(
            "terminal",
            f"{text}: the console's font has no fine dots, so charts are drawn in blocks",
            "use a terminal window, an SSH session, or `fbterm` on this console",
        )
    if colors == "no":
        return warn(
            "terminal", text, "export TERM=xterm-256color if it supports colors: curves differ by hue"
        )
    if os.environ.get("NO_COLOR"):
        text += ", turned off (NO_COLOR)"
    return ok("terminal", text)


def _color_count(kind: str, terminal: int) -> str:
    with contextlib.suppress(curses.error):  # not in the terminfo database: rich judges by the name
        curses.setupterm(kind, terminal)
        if curses.tigetnum("colors") < 8:
            return "no"
    # Independent of NO_COLOR and of redirected output.
    system = Console(force_terminal=True, no_color=False).color_system
    return {"truecolor": "16 million", "256": "256", "standard": "16"}.get(system or "", "no")


def locale_finding(environment: Mapping[str, str]) -> Finding:
    """Check that the locale in `environment` is UTF-8, which the charts need."""
    named = next((environment[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environment.get(key)), "")
    encoding = locale_encoding()
    if not encoding:
        return warn("locale", f"{named} is not installed here", "export LC_ALL=C.UTF-8")
    if encoding != "utf-8":
        return warn(
            "locale",
            f"{named or 'not set'}: the encoding is {encoding}",
            "export LC_ALL=C.UTF-8, or charts will look broken",
        )
    return ok("locale", f"{named or 'C'}, UTF-8")
