"""Doctor's checks of the machine itself: system, namespaces, programs, and its kernel as a place for the lab.

Known restrictions on namespaces are recognized by files of the kernel and of container runtimes: `read_limits` reads
the files and `recognize` judges only their contents, so that it can be tested for any machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tcptutor.backends import host, selection
from tcptutor.base.errors import LabUnavailable
from tcptutor.install import packages
from tcptutor.install.findings import Finding, ok, warn
from tcptutor.install.packages import MissingPackage, System
from tcptutor.run import Environment

_NEEDED = ("netem", "tbf", "reno", "cubic")
"""Kernel features that most experiments need."""

_WANTED = tuple(
    name for name in (*selection.COURSE_QDISCS, *selection.COURSE_ALGORITHMS) if name not in _NEEDED
)
"""Kernel features that some experiments need; without them every page runs in the guest."""
_SECCOMP = "proc/self/status"
_GROUPS = "proc/1/cgroup"
_USER_NAMESPACE = "proc/self/ns/user"
_NET_NAMESPACE = "proc/self/ns/net"
_PROCESSES = "proc/self/ns/pid"
_MACHINES_OWN = "pid:[4026531836]"
"""Fixed number of the initial process namespace (PROC_PID_INIT_INO)."""
_APPARMOR = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
_CLONE = "proc/sys/kernel/unprivileged_userns_clone"
_MOST_USER = "proc/sys/user/max_user_namespaces"
_MOST_NET = "proc/sys/user/max_net_namespaces"
_DOCKER = ".dockerenv"
_PODMAN = "run/.containerenv"
_KUBERNETES = "run/secrets/kubernetes.io"
_MANAGER = "run/systemd/container"
"""Written by systemd's container managers, and also by WSL 2, which is not a container."""

LIMIT_FILES = (
    _SECCOMP, _GROUPS, _USER_NAMESPACE, _NET_NAMESPACE, _PROCESSES, _APPARMOR, _CLONE, _MOST_USER, _MOST_NET,
    _DOCKER, _PODMAN, _KUBERNETES, _MANAGER,
)  # fmt: skip
"""Files that `read_limits` reads, relative to the root folder."""

_SYSCTLS = (
    (_APPARMOR, "1", "apparmor", "AppArmor takes ordinary users' rights in namespaces (Ubuntu from 23.10 on)", "0"),
    (_CLONE, "0", "user namespaces", "the kernel forbids ordinary users to create namespaces (Debian's setting)", "1"),
    (_MOST_USER, "0", "user namespaces", "the kernel allows no user namespaces", "15000"),
    (_MOST_NET, "0", "net namespaces", "the kernel allows no network namespaces", "15000"),
)  # fmt: skip
"""For each sysctl: file, restricting value, finding's name, description, and the value that allows namespaces."""


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
    """Check that the lab can create namespaces, and report each limit in `contents`, from `read_limits`."""
    try:
        words = host.privilege()
        error = host.refusal([*words, "true"])
    except LabUnavailable:
        words, error = [], host.refusal(["unshare", "--user", "--map-root-user", "--net", "true"])
    works = bool(words) and not error
    known = [limit_finding(limit, works) for limit in recognize(contents)]
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


class Limit(NamedTuple):
    """A restriction of this machine that affects the lab."""

    name: str
    """Name of the finding."""
    text: str
    """Description of the restriction."""
    remedy: str
    """Action that removes the restriction."""


def read_limits(root: Path = Path("/")) -> dict[str, str]:
    """Return the contents of the existing LIMIT_FILES: a link's target, and an empty string for a folder."""
    contents = {}
    for name in LIMIT_FILES:
        path = root / name
        try:
            contents[name] = str(path.readlink()) if path.is_symlink() else path.read_text(errors="replace")
        except IsADirectoryError:
            contents[name] = ""
        except OSError:
            continue
    return contents


def recognize(contents: Mapping[str, str]) -> list[Limit]:
    """Return the restrictions shown by such files; a container comes first, as it may cause the others."""
    return [*_container(contents), *_compiled_out(contents), *_sysctls(contents)]


def container(contents: Mapping[str, str]) -> str:
    """Return the runtime of the container we run in, e.g. docker, podman or lxc; empty outside containers."""
    if contents.get(_PROCESSES) == _MACHINES_OWN:
        # A virtual machine's disk made from a container's image still contains the marker files.
        return ""
    if _PODMAN in contents:
        return "podman"
    if _DOCKER in contents:
        return "docker"
    if _KUBERNETES in contents:
        return "kubernetes"
    if (manager := contents.get(_MANAGER, "").strip()) not in ("", "wsl"):
        return manager
    # Unless the container has its own control groups, the path of process 1 names the runtime.
    runtimes = {"docker": "docker", "kubepods": "kubernetes", "libpod": "podman", "lxc": "lxc"}
    return next(
        (runtime for word, runtime in runtimes.items() if f"/{word}" in contents.get(_GROUPS, "")), ""
    )


def _container(contents: Mapping[str, str]) -> Iterator[Limit]:
    runtime = container(contents)
    if not runtime:
        return
    status = dict(line.split(":", 1) for line in contents.get(_SECCOMP, "").splitlines() if ":" in line)
    filtered = status.get("Seccomp", "").strip() == "2"
    text = f"this is a container ({runtime})" + (" with a seccomp filter" if filtered else "")
    remedy = {
        "docker": "start it with: docker run --privileged",
        "podman": "start it with: podman run --privileged",
        "kubernetes": "set securityContext.privileged in the pod",
        "lxc": "set security.nesting=true for the container (lxc config set)",
    }.get(
        runtime,
        "start it with the right to create namespaces (CAP_SYS_ADMIN, CAP_NET_ADMIN, no seccomp filter)",
    )
    yield Limit("container", text, remedy)


def _compiled_out(contents: Mapping[str, str]) -> Iterator[Limit]:
    if _USER_NAMESPACE not in contents:
        yield Limit(
            "user namespaces",
            "the kernel was built without user namespaces (CONFIG_USER_NS)",
            "run as root, or use your distribution's kernel",
        )
    if _NET_NAMESPACE not in contents:
        yield Limit(
            "net namespaces",
            "the kernel was built without network namespaces (CONFIG_NET_NS)",
            "use your distribution's kernel",
        )


def _sysctls(contents: Mapping[str, str]) -> Iterator[Limit]:
    for file, value, name, text, right in _SYSCTLS:
        if contents.get(file, "").strip() == value:
            sysctl = file.removeprefix("proc/sys/").replace("/", ".")
            remedy = f"sudo sysctl -w {sysctl}={right}, then `tcptutor doctor` (permanent in /etc/sysctl.d/)"
            yield Limit(name, f"{text}: {sysctl} is {value}", remedy)
