"""What forbids the lab is recognised from files as other machines have them.

Comments say where contents were recorded; those without are written after the documentation.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.install import check_host
from tcptutor.install.check_host import Limit, check_wsl, limit_finding
from tcptutor.install.packages import wsl_version

NAMESPACES = {
    "proc/self/ns/user": "user:[4026531837]",
    "proc/self/ns/net": "net:[4026531840]",
    "proc/self/ns/pid": "pid:[4026531836]",
}
"""Of a machine's first processes."""
IN_CONTAINER = NAMESPACES | {"proc/self/ns/pid": "pid:[4026532604]"}
SECCOMP = "CapAmb:\t0000000000000000\nNoNewPrivs:\t0\nSeccomp:\t2\nSeccomp_filters:\t1\n"

DOCKER_GROUPS = """\
11:memory:/docker/98b476fc486aa7bac605b96724646ce0f192db5d2d8e38be1a8d7bd5f2c95eff
10:blkio:/docker/98b476fc486aa7bac605b96724646ce0f192db5d2d8e38be1a8d7bd5f2c95eff
6:rdma:/
1:name=systemd:/docker/98b476fc486aa7bac605b96724646ce0f192db5d2d8e38be1a8d7bd5f2c95eff
0::/system.slice/docker.service
"""  # vdloo/raptiformica, pull request 287
KUBERNETES_GROUPS = """\
11:memory:/kubepods/besteffort/pod6c85216c-82ad-11e7-9fb0-061c2985ea4a/162a25c865d3117f158a598f94b1a144
10:pids:/kubepods/besteffort/pod6c85216c-82ad-11e7-9fb0-061c2985ea4a/162a25c865d3117f158a598f94b1a144
"""  # genuinetools/amicontained, issue 7, shortened


def _names(contents: dict[str, str]) -> list[str]:
    return [limit.name for limit in check_host.recognize(contents)]


def _only(contents: dict[str, str]) -> Limit:
    (limit,) = check_host.recognize(contents)
    return limit


def test_nothing_is_said_of_a_machine_that_forbids_nothing() -> None:
    allowed = {
        "proc/sys/kernel/apparmor_restrict_unprivileged_userns": "0\n",
        "proc/sys/kernel/unprivileged_userns_clone": "1\n",
        "proc/sys/user/max_user_namespaces": "127246\n",
        "proc/sys/user/max_net_namespaces": "127246\n",
        "proc/1/cgroup": "0::/init.scope\n",
        "proc/self/status": "Seccomp:\t0\nSeccomp_filters:\t0\n",
    }
    assert _names(NAMESPACES | allowed) == []


@pytest.mark.parametrize(
    ("file", "value", "name", "remedy"),
    [
        # Ubuntu 24.04: gominimal/minimal, issue 610
        (
            "kernel/apparmor_restrict_unprivileged_userns", "1\n", "apparmor",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        # Debian's setting, as in Debian 10
        ("kernel/unprivileged_userns_clone", "0\n", "user namespaces", "kernel.unprivileged_userns_clone=1"),
        # As the manual page user_namespaces(7) has it
        ("user/max_user_namespaces", "0\n", "user namespaces", "user.max_user_namespaces=15000"),
        ("user/max_net_namespaces", "0\n", "net namespaces", "user.max_net_namespaces=15000"),
    ],
)  # fmt: skip
def test_settings_that_forbid_namespaces(file: str, value: str, name: str, remedy: str) -> None:
    limit = _only(NAMESPACES | {f"proc/sys/{file}": value})
    assert limit.name == name
    assert f"sudo sysctl -w {remedy}, " in limit.remedy
    assert limit.text.endswith(f"{file.replace('/', '.')} is {value.strip()}")


@pytest.mark.parametrize(
    ("missing", "option"), [("proc/self/ns/user", "CONFIG_USER_NS"), ("proc/self/ns/net", "CONFIG_NET_NS")]
)
def test_kernels_built_without_namespaces(missing: str, option: str) -> None:
    limit = _only({name: target for name, target in NAMESPACES.items() if name != missing})
    assert option in limit.text
    assert "kernel" in limit.remedy


@pytest.mark.parametrize(
    ("maker", "contents", "remedy"),
    [
        # With control groups of the second version the path tells nothing: coder/coder, pull request 15156
        ("docker", {".dockerenv": "", "proc/1/cgroup": "0::/\n"}, "docker run --privileged"),
        ("docker", {"proc/1/cgroup": DOCKER_GROUPS}, "docker run --privileged"),
        ("docker", {"proc/1/cgroup": "0::/docker/aa86ac98959eeedeae0ecb6e0c9ddd8ae8b97a9d\n"}, "docker run"),
        ("podman", {"run/.containerenv": "", "proc/1/cgroup": "0::/\n"}, "podman run --privileged"),
        ("podman", {"run/.containerenv": 'engine="podman-4.3.1"\nrootless=1\n', ".dockerenv": ""}, "podman run"),
        ("kubernetes", {"proc/1/cgroup": KUBERNETES_GROUPS}, "securityContext.privileged"),
        ("kubernetes", {"run/secrets/kubernetes.io": "", "proc/1/cgroup": "0::/\n"}, "securityContext.privileged"),
        ("lxc", {"run/systemd/container": "lxc\n"}, "security.nesting=true"),
        ("systemd-nspawn", {"run/systemd/container": "systemd-nspawn\n"}, "CAP_SYS_ADMIN"),
    ],
)  # fmt: skip
def test_containers(maker: str, contents: dict[str, str], remedy: str) -> None:
    limit = _only(IN_CONTAINER | contents)
    assert (limit.name, limit.text) == ("container", f"this is a container ({maker})")
    assert remedy in limit.remedy


def test_a_seccomp_filter_is_named_in_a_container_only() -> None:
    filtered = {"proc/self/status": SECCOMP}
    assert _only(IN_CONTAINER | filtered | {".dockerenv": ""}).text.endswith("with a seccomp filter")
    assert _names(NAMESPACES | filtered) == []


def test_a_machine_made_from_a_containers_image_is_none() -> None:
    assert _names(NAMESPACES | {".dockerenv": ""}) == []


def test_wsl_2_under_systemd_is_no_container() -> None:
    assert _names(IN_CONTAINER | {"run/systemd/container": "wsl\n"}) == []


def test_a_limit_that_does_not_hold_the_lab_up_needs_no_remedy() -> None:
    limit = _only(NAMESPACES | {"proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"})
    assert limit_finding(limit, works=False).status == "warn"
    there = limit_finding(limit, works=True)
    assert (there.status, there.remedy) == ("ok", "")
    assert "anyway" in there.text


def test_files_of_this_machine_are_read(tmp_path: Path) -> None:
    contents = check_host.read_limits()
    assert contents["proc/self/ns/user"].startswith("user:[")
    assert set(contents) <= set(check_host.LIMIT_FILES)
    assert not [limit for limit in check_host.recognize(contents) if "built without" in limit.text]
    (tmp_path / "run" / "secrets" / "kubernetes.io").mkdir(parents=True)
    assert check_host.read_limits(tmp_path) == {"run/secrets/kubernetes.io": ""}


@pytest.mark.parametrize(
    ("release", "build", "version"),
    [
        # microsoft/WSL, issue 3337
        (
            "4.4.0-17134-Microsoft",
            "Linux version 4.4.0-17134-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0 (GCC) ) "
            "#137-Microsoft Thu Jun 14 18:46:00 PST 2018",
            1,
        ),
        # microsoft/WSL, issue 1090: the release as `uname` gave it
        (
            "3.4.0+",
            "Linux version 3.4.0-Microsoft (Microsoft@Microsoft.com) (gcc version 4.7 (GCC) ) "
            "#1 SMP PREEMPT Wed Dec 31 14:42:53 PST 2014",
            1,
        ),
        # microsoft/WSL, issue 5307: before WSL 2 named itself
        (
            "4.19.104-microsoft-standard",
            "Linux version 4.19.104-microsoft-standard (oe-user@oe-host) (gcc version 8.2.0 (GCC)) "
            "#1 SMP Wed Feb 19 06:37:35 UTC 2020",
            2,
        ),
        # systemd, pull request 15614
        ("4.19.112-microsoft-WSL2-standard", "", 2),
        # leoheck/kiri, pull request 28
        (
            "5.4.72-microsoft-standard-WSL2",
            "Linux version 5.4.72-microsoft-standard-WSL2 (oe-user@oe-host) (gcc version 8.2.0 (GCC)) "
            "#1 SMP Wed Oct 28 23:40:43 UTC 2020",
            2,
        ),
        # antonbabenko/pre-commit-terraform, issue 871: built by its user
        (
            "6.6.84.1-microsoft-standard-WSL2+",
            "Linux version 6.6.84.1-microsoft-standard-WSL2+ (stoney@platypus) (gcc (Debian 12.2.0-14) 12.2.0, "
            "GNU ld (GNU Binutils for Debian) 2.40) #3 SMP PREEMPT_DYNAMIC Sun Apr  6 13:55:34 PDT 2025",
            2,
        ),
        ("6.8.0-87-generic", "Linux version 6.8.0-87-generic (buildd@lcy02-amd64-034)", 0),
        ("6.12.117+deb13-cloud-arm64", "", 0),
    ],
)
def test_versions_of_wsl(release: str, build: str, version: int) -> None:
    assert wsl_version(release, build) == version


@pytest.mark.parametrize(
    ("version", "netem", "kvm", "status", "told"),
    [
        (1, False, False, "warn", ["no Linux kernel", "wsl --set-version"]),
        (2, False, False, "warn", ["no netem", "wsl --update", "emulated", "nestedVirtualization=true"]),
        (2, False, True, "warn", ["no netem", "wsl --update"]),
        (2, True, False, "warn", ["emulated", "nestedVirtualization=true"]),
        (2, True, True, "ok", ["WSL 2"]),
    ],
)
def test_what_is_different_in_wsl(version: int, netem: bool, kvm: bool, status: str, told: list[str]) -> None:
    (finding,) = check_wsl(version, netem, kvm)
    assert (finding.name, finding.status) == ("wsl", status)
    assert all(part in f"{finding.text}|{finding.remedy}" for part in told)
    assert ("netem" in finding.text, "emulated" in finding.text) == (
        version == 2 and not netem,
        version == 2 and not kvm,
    )


def test_elsewhere_nothing_is_said_of_wsl() -> None:
    assert check_wsl(0, netem=False, kvm=False) == []
