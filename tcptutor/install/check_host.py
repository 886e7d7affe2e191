"""Doctor's checks of the machine itself: system, namespaces, programs, and its kernel as a place for the lab."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tcptutor.backends import host, selection
from tcptutor.base.errors import LabUnavailable
from tcptutor.install import namespace_limits, packages
from tcptutor.install.findings import Finding, ok, warn
from tcptutor.install.namespace_limits import Limit
from tcptutor.install.packages import MissingPackage, System
from tcptutor.run import Environment

_NEEDED = ("netem", "tbf", "reno", "cubic")
"""Kernel features that most experiments need."""

_WANTED = tuple(
    name for name in (*selection.COURSE_QDISCS, *selection.COURSE_ALGORITHMS) if name not in _NEEDED
)
"""Kernel features that some experiments need; without them every page runs in the guest."""


def check_system(system: System) -> Finding:
    """Report the distribution and its kernel."""
    text = f"{system.name}, Linux {system.kernel}, {system.machine}"
    if not system.debian:
        remedy = "setup knows Debian's and Ubuntu's packages only: install the missing programs by hand"
        return warn("system", text, remedy)
    return ok("system", text)


def check_wsl(version: int, netem: bool, kvm: bool) -> list[Finding]:
    """Report on WSL, if we run in it; `netem` and `kvm` say whether its kernel provides them."""
    if version == 0:
        return []
    if version == 1:
        return [
            warn(
                "wsl",
                "WSL 1 has no Linux kernel: no experiment runs here",
                "in Windows: wsl --set-version <distribution> 2 (wsl --list names them)",
            )
        ]
    lacking, remedies = [], []
    if not netem:
        lacking.append("its kernel has no netem: experiments run in the guest")
        remedies.append("wsl --update for a newer kernel")
    if not kvm:
        lacking.append("no nested virtualization: the guest is emulated")
        remedies.append(
            "nestedVirtualization=true below [wsl2] in %UserProfile%\\.wslconfig (Windows 11, x86-64), wsl --shutdown"
        )
    if not lacking:
        return [ok("wsl", "WSL 2")]
    return [warn("wsl", f"WSL 2: {'; '.join(lacking)}", f"in Windows: {'; '.join(remedies)}; or ignore this")]


def check_namespaces(contents: Mapping[str, str]) -> list[Finding]:
    """Check that the lab can create namespaces, and report each limit in `contents`, from `namespace_limits.read`."""
    try:
        words = host.privilege()
        error = host.refusal([*words, "true"])
    except LabUnavailable:
        words, error = [], host.refusal(["unshare", "--user", "--map-root-user", "--net", "true"])
    works = bool(words) and not error
    known = [limit_finding(limit, works) for limit in namespace_limits.recognize(contents)]
    if works:
        how = "as root (shells open in the guest)" if os.geteuid() == 0 else "as an ordinary user"
        return [ok("namespaces", how), *known]
    who, *ways = ["root"] if os.geteuid() == 0 else ["this user", "run as root"]
    if known:
        ways.insert(0, "follow the next lines")
    remedy = ", or ".join([*ways, "ignore this: the guest needs none"])
    return [warn("namespaces", f"{who} may not create them ({error or 'no reason given'})", remedy), *known]


def limit_finding(limit: Limit, works: bool) -> Finding:
    """Return the finding for `limit`, with its remedy unless the lab `works` anyway."""
    if works:
        return ok(limit.name, f"{limit.text}; the lab gets namespaces anyway")
    return warn(limit.name, limit.text, limit.remedy)


def check_programs(lacking: list[MissingPackage]) -> list[Finding]:
    """Return a finding for each missing package, or a single finding that all programs are installed."""
    if not lacking:
        return [ok("programs", "all installed")]
    return [
        warn(
            "programs",
            f"{', '.join(package.programs)} missing: {package.reason}",
            f"run `tcptutor setup` (Debian package {package.name})",
        )
        for package in lacking
    ]


def check_kernel(system: System, here: Environment | None, why: str) -> tuple[Finding, bool]:
    """Return the finding about this machine's kernel, and whether the course can run on it."""
    if here is None:
        return warn("host kernel", why, "the experiments run in the guest"), False
    has = {*here.qdiscs, *here.algorithms}
    lacking = [name for name in (*_NEEDED, *_WANTED) if name not in has]
    present = [name for name in (*_NEEDED, *_WANTED) if name in has]
    text = f"{here.kernel} has {', '.join(present) or 'no feature that the lab needs'}"
    if not lacking:
        return ok("host kernel", text), True
    usable = not set(lacking) & set(_NEEDED)
    remedy = "the experiments run in the guest"
    more = f"linux-modules-extra-{system.kernel}"
    # The package is missing in a container on another system's kernel, or for a custom kernel.
    if "ubuntu" in system.family and packages.known(more):
        remedy += f"; or install them: sudo apt-get install {more}"
    return warn("host kernel", f"{text}; no {selection.abbreviate(lacking)}", remedy), usable
