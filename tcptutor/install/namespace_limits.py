"""Known restrictions on namespaces, recognized by files of the kernel and of container runtimes.

`read` reads the files and `recognize` judges only their contents, so that it can be tested for any machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

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

FILES = (
    _SECCOMP, _GROUPS, _USER_NAMESPACE, _NET_NAMESPACE, _PROCESSES, _APPARMOR, _CLONE, _MOST_USER, _MOST_NET,
    _DOCKER, _PODMAN, _KUBERNETES, _MANAGER,
)  # fmt: skip
"""Files that `read` reads, relative to the root folder."""

_SYSCTLS = (
    (_APPARMOR, "1", "apparmor", "AppArmor takes ordinary users' rights in namespaces (Ubuntu from 23.10 on)", "0"),
    (_CLONE, "0", "user namespaces", "the kernel forbids ordinary users to create namespaces (Debian's setting)", "1"),
    (_MOST_USER, "0", "user namespaces", "the kernel allows no user namespaces", "15000"),
    (_MOST_NET, "0", "net namespaces", "the kernel allows no network namespaces", "15000"),
)  # fmt: skip
"""For each sysctl: file, restricting value, finding's name, description, and the value that allows namespaces."""


class Limit(NamedTuple):
    """A restriction of this machine that affects the lab."""

    name: str
    """Name of the finding."""
    text: str
    """Description of the restriction."""
    remedy: str
    """Action that removes the restriction."""


def read(root: Path = Path("/")) -> dict[str, str]:
    """Return the contents of the existing FILES: a link's target, and an empty string for a folder."""
    contents = {}
    for name in FILES:
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
