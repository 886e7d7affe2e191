"""What the doctor sees of the machine itself: system, namespaces, and its own kernel as a place for the lab."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

from tcptutor.backends import choice, host
from tcptutor.errors import LabUnavailable
from tcptutor.install import needs
from tcptutor.install.finding import Finding, ok, warn
from tcptutor.install.system import System

_SYSCTLS = (
    (
        "kernel/apparmor_restrict_unprivileged_userns", "1",
        "AppArmor forbids ordinary users to make namespaces (Ubuntu from 23.10 on)",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "kernel/unprivileged_userns_clone", "0",
        "the kernel forbids ordinary users to make namespaces",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
    (
        "user/max_user_namespaces", "0",
        "the kernel allows no user namespaces",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
)  # fmt: skip
_NEEDED = ("netem", "tbf", "reno", "cubic")
_WANTED = ("fq", "htcp", "bbr")
"""Some experiments ask for these, and those go to the guest."""


def check_system(system: System) -> Finding:
    """The distribution and its kernel."""
    text = f"{system.name}, Linux {system.kernel}, {system.machine}" + (
        f", WSL {system.wsl}" if system.wsl else ""
    )
    if system.wsl == 1:
        return warn(
            "system", text, "WSL 1 has no Linux kernel: in Windows, type: wsl --set-version <distribution> 2"
        )
    if not system.debian:
        remedy = "setup knows Debian's and Ubuntu's packages only: install the missing programs by hand"
        return warn("system", text, remedy)
    return ok("system", text)


def check_namespaces(sysctls: Path = Path("/proc/sys")) -> Finding:
    """Whether the lab can have namespaces of its own, and what forbids it."""
    otherwise = "or leave it so: the guest needs none"
    try:
        words = host.privilege()
        error = _refusal([*words, "true"])
    except LabUnavailable:
        words, error = [], ""
    if words and not error:
        how = (
            "as root"
            if os.geteuid() == 0
            else "through sudo"
            if words[0] == "sudo"
            else "as an ordinary user"
        )
        return ok("namespaces", f"{how}")
    if os.geteuid() == 0:
        # Root in a container without the capabilities.
        return warn(
            "namespaces", f"root may not make them ({error})", f"give the container --privileged, {otherwise}"
        )
    for name, value, text, remedy in _SYSCTLS:
        file = sysctls / name
        if file.exists() and file.read_text().strip() == value:
            return warn("namespaces", text, f"{remedy}, {otherwise}")
    return warn("namespaces", "this user may not make them", f"run as root, {otherwise}")


def _refusal(command: list[str]) -> str:
    """The last line that `command` prints when it fails; empty when it works."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else ""


def check_tools(lacking: list[needs.Need]) -> list[Finding]:
    """A line for each package that is missing, or one that says that none is."""
    if not lacking:
        return [ok("programs", "all there")]
    return [
        warn(
            "programs",
            f"{', '.join(need.missing)} missing: {need.reason}",
            f"run `tcptutor setup` (Debian package {need.package})",
        )
        for need in lacking
    ]


def check_kernel(system: System) -> tuple[Finding, bool]:
    """What this machine's kernel has for the lab, and whether the course can run on it."""
    here, why = asyncio.run(choice.host_environment(fresh=True))
    if here is None:
        return warn("host kernel", why, "the experiments run in the guest"), False
    has = {*here.qdiscs, *here.algorithms}
    lacking = [name for name in (*_NEEDED, *_WANTED) if name not in has]
    present = [name for name in (*_NEEDED, *_WANTED) if name in has]
    text = f"{here.kernel} has {', '.join(present) or 'nothing of what the lab needs'}"
    if not lacking:
        return ok("host kernel", text), True
    usable = not set(lacking) & set(_NEEDED)
    remedy = "experiments that need them run in the guest" if usable else "the experiments run in the guest"
    if "ubuntu" in system.family and not system.wsl:
        remedy += f"; or install them: sudo apt-get install linux-modules-extra-{system.kernel}"
    return warn("host kernel", f"{text}; no {', '.join(lacking)}", remedy), usable
