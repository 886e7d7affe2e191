"""What the doctor sees of the machine itself: system, namespaces, and its own kernel as a place for the lab."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from tcptutor.backends import choice, host
from tcptutor.base.errors import LabUnavailable
from tcptutor.install import limits, packages
from tcptutor.install.limits import Limit
from tcptutor.install.packages import MissingPackage
from tcptutor.install.report import Finding, ok, warn
from tcptutor.install.system import System
from tcptutor.run import Environment

_NEEDED = ("netem", "tbf", "reno", "cubic")
"""What most experiments need of the kernel."""

_WANTED = tuple(name for name in (*choice.COURSE_QDISCS, *choice.COURSE_ALGORITHMS) if name not in _NEEDED)
"""Needs of some experiments; without them all of the course runs in the guest, so that it has one lab."""


def check_system(system: System) -> Finding:
    """The distribution and its kernel."""
    text = f"{system.name}, Linux {system.kernel}, {system.machine}"
    if not system.debian:
        remedy = "setup knows Debian's and Ubuntu's packages only: install the missing programs by hand"
        return warn("system", text, remedy)
    return ok("system", text)


def check_wsl(version: int, netem: bool, kvm: bool) -> list[Finding]:
    """The line about WSL, where we are in it: `netem` and `kvm` are whether its kernel has these."""
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
        lacking.append("no nested virtualisation: the guest is emulated")
        remedies.append(
            "nestedVirtualization=true below [wsl2] in %UserProfile%\\.wslconfig (Windows 11, x86-64), wsl --shutdown"
        )
    if not lacking:
        return [ok("wsl", "WSL 2")]
    return [warn("wsl", f"WSL 2: {'; '.join(lacking)}", f"in Windows: {'; '.join(remedies)}; or leave it so")]


def check_namespaces(contents: Mapping[str, str]) -> list[Finding]:
    """Whether the lab can have namespaces of its own, and a line for each limit that `contents` of files tell of."""
    try:
        words = host.privilege()
        error = host.refusal([*words, "true"])
    except LabUnavailable:
        words, error = [], host.refusal(["unshare", "--user", "--map-root-user", "--net", "true"])
    works = bool(words) and not error
    known = [limit_finding(limit, works) for limit in limits.recognise(contents)]
    if works:
        how = "as root" if os.geteuid() == 0 else "as an ordinary user"
        return [ok("namespaces", how), *known]
    who, *ways = ["root"] if os.geteuid() == 0 else ["this user", "run as root"]
    if known:
        ways.insert(0, "do what the next lines say")
    remedy = ", or ".join([*ways, "leave it so: the guest needs none"])
    return [warn("namespaces", f"{who} may not make them ({error or 'no reason given'})", remedy), *known]


def limit_finding(limit: Limit, works: bool) -> Finding:
    """The line for `limit`: with its remedy, unless the lab `works` all the same."""
    if works:
        return ok(limit.name, f"{limit.text}; the lab has namespaces all the same")
    return warn(limit.name, limit.text, limit.remedy)


def check_programs(lacking: list[MissingPackage]) -> list[Finding]:
    """A line for each package that is missing, or one that says that none is."""
    if not lacking:
        return [ok("programs", "all there")]
    return [
        warn(
            "programs",
            f"{', '.join(package.programs)} missing: {package.reason}",
            f"run `tcptutor setup` (Debian package {package.name})",
        )
        for package in lacking
    ]


def probe_kernel() -> tuple[Environment | None, str]:
    """What this machine's kernel can do, tried now; or None and why the lab cannot run on it."""
    return asyncio.run(choice.host_environment(fresh=True))


def check_kernel(system: System, here: Environment | None, why: str) -> tuple[Finding, bool]:
    """What this machine's kernel has for the lab, and whether the course can run on it."""
    if here is None:
        return warn("host kernel", why, "the experiments run in the guest"), False
    has = {*here.qdiscs, *here.algorithms}
    lacking = [name for name in (*_NEEDED, *_WANTED) if name not in has]
    present = [name for name in (*_NEEDED, *_WANTED) if name in has]
    text = f"{here.kernel} has {', '.join(present) or 'nothing of what the lab needs'}"
    if not lacking:
        return ok("host kernel", text), True
    usable = not set(lacking) & set(_NEEDED)
    remedy = "the experiments run in the guest"
    more = f"linux-modules-extra-{system.kernel}"
    # A container on another system's kernel, or a kernel that was built by hand, has none.
    if "ubuntu" in system.family and packages.known(more):
        remedy += f"; or install them: sudo apt-get install {more}"
    return warn("host kernel", f"{text}; no {choice.abbreviate(lacking)}", remedy), usable
