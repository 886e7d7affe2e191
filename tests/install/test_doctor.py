"""`tcptutor doctor`: its JSON, its exit codes, and a remedy for each thing that is missing."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tcptutor.backends import programs as lab_programs
from tcptutor.backends.guest import architecture
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.install import check_guest, doctor, guest_parts, packages
from tests.install.command import NOBODY, ROOT, TCPTUTOR, in_terminal, needs_user_namespaces, programs, run
from tests.install.conftest import Cache

DOCTOR = [*TCPTUTOR, "doctor"]
LOOK = [
    TCPTUTOR[0],
    "-c",
    "import sys; from tcptutor.install.doctor import check_terminal\n"
    "finding = check_terminal()[int(sys.argv[1])]; print(finding.status, finding.text, sep='|')",
]
"""Prints what the doctor finds of the terminal (0) or the locale (1)."""
ONLY_WHERE_RECOGNISED = {"wsl", "container", "apparmor", "user namespaces", "net namespaces"}
NO_NETWORKS = 'echo 0 > /proc/sys/user/max_net_namespaces || exit 99; exec "$@"'
"""Shell words that forbid network namespaces in the user namespace they run in, and then run their arguments."""


def _doctor(*before: str, **environment: str) -> tuple[int, dict[str, Any], dict[str, dict[str, str]]]:
    """Exit code, document, and the findings by name (the last of each name)."""
    done = run([*before, *DOCTOR, "--json"], **environment)
    assert done.stderr == ""
    document = json.loads(done.stdout)
    return done.returncode, document, {finding["name"]: finding for finding in document["findings"]}


@pytest.mark.guest
def test_json_on_this_machine(mark: str, snapshots: Snapshots) -> None:
    code, document, findings = _doctor()
    assert set(document) == {"findings", "backends", "ok"}
    assert set(document["backends"]) == {"host", "guest"}
    assert (code, document["ok"], document["backends"]["guest"]) == (0, True, True)
    assert {
        "system", "programs", "namespaces", "host kernel", "qemu", "virtualization", "image", "snapshot virtual",
        "snapshot real", "disk", "terminal", "locale", "plots", "tmux", "lab",
    } == set(findings) - ONLY_WHERE_RECOGNISED  # fmt: skip
    for finding in document["findings"]:
        assert set(finding) == {"name", "status", "text", "remedy"}
        assert finding["status"] in ("ok", "warn", "fail")
        assert finding["text"]
        assert finding["status"] == "ok" or finding["remedy"], finding
    assert findings["lab"]["status"] == "ok"
    assert "MB in " in findings["image"]["text"]


def test_a_machine_without_programs_and_guest(cache: Cache, tmp_path: Path) -> None:
    code, document, findings = _doctor(PATH=programs(tmp_path / "bin"))
    assert (code, document["ok"], document["backends"]) == (3, False, {"host": False, "guest": False})
    lines = [finding for finding in document["findings"] if finding["name"] == "programs"]
    for program, package in {
        "mnexec": "mininet",
        "iperf3": "iperf3",
        "mmdebstrap": "mmdebstrap",
        "zstd": "zstd",
    }.items():
        line = next(line for line in lines if program in line["text"])
        assert (line["status"], line["remedy"]) == (
            "warn",
            f"run `tcptutor setup` (Debian package {package})",
        )
    assert "qemu-system-x86" in findings["qemu"]["remedy"]
    assert findings["host kernel"]["text"].endswith("missing (Debian package mininet): run `tcptutor setup`")
    assert (findings["image"]["text"], findings["image"]["remedy"]) == (
        "the guest image is not built yet",
        "run `tcptutor setup`",
    )
    assert (findings["lab"]["status"], findings["lab"]["remedy"]) == (
        "fail",
        "run `tcptutor setup`, then `tcptutor doctor`",
    )


@pytest.mark.guest
def test_a_qemu_that_cannot_repeat_a_run_exactly_is_told(snapshots: Snapshots, cache: Cache) -> None:
    cache.fill(snapshots)
    said = "with this QEMU equal runs may differ by microseconds"
    parts, _ = check_guest.check_parts(Snapshots())
    assert [said in part.text for part in parts] == [False, False, False]
    manifest = cache.guest / "virtual.json"
    manifest.write_text(manifest.read_text().replace('"exact":true', '"exact":false'))
    parts, guest = check_guest.check_parts(Snapshots())
    assert guest
    assert [(part.status, said in part.text) for part in parts] == [
        ("ok", False),
        ("ok", True),
        ("ok", False),
    ]


@pytest.mark.guest
def test_damage_is_told_from_what_is_missing_or_old(snapshots: Snapshots, cache: Cache) -> None:
    cache.fill(snapshots)
    cache.truncate("virtual.snapshot")
    (cache.guest / "real.json").unlink()
    shutil.copy(Path("/bin/true"), cache.home / "tcptutor" / "kvm.json")  # a damaged memory is no answer
    parts, guest = check_guest.check_parts(Snapshots())
    assert guest
    image, virtual, real = parts
    assert image.status == "ok"
    assert (virtual.status, virtual.text) == ("warn", "the snapshot for the virtual clock is damaged")
    assert real.text == "there is no snapshot for the real clock"
    assert "tcptutor setup" in virtual.remedy
    assert "tcptutor setup" in real.remedy

    manifest = cache.guest / "image" / "image.json"
    manifest.write_text(manifest.read_text().replace('"recipe":"', '"recipe":"0'))
    parts, guest = check_guest.check_parts(Snapshots())
    assert not guest
    assert parts[0].text == "the guest image is of another version"
    cache.truncate("image/vmlinuz")
    manifest.write_text("{")
    assert check_guest.check_parts(Snapshots())[0][0].text == "the guest image is damaged"


@needs_user_namespaces
@pytest.mark.parametrize(
    ("name", "value", "text", "remedy"),
    [
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor", "unprivileged_userns=0"),
        ("proc/sys/kernel/unprivileged_userns_clone", "0", "ordinary users", "unprivileged_userns_clone=1"),
        ("proc/sys/user/max_user_namespaces", "0", "no user namespaces", "sysctl -w user.max_user_namespaces="),
        ("proc/sys/kernel/other", "1", "this user may not create them (unshare: ", "run as root"),
    ],
)  # fmt: skip
def test_what_forbids_namespaces_is_named(
    tmp_path: Path, name: str, value: str, text: str, remedy: str
) -> None:
    file = tmp_path / "machine" / name
    file.parent.mkdir(parents=True)
    file.write_text(f"{value}\n")
    look = (
        "import sys; from pathlib import Path; from tcptutor.install import check_host\n"
        "print(check_host.check_namespaces(check_host.read_limits(Path(sys.argv[1]))))"
    )
    done = run(
        [*NOBODY, TCPTUTOR[0], "-c", look, tmp_path / "machine"], PATH=programs(tmp_path / "bin", "unshare")
    )
    assert "status='warn'" in done.stdout, done.stderr
    assert text in done.stdout
    assert remedy in done.stdout


def test_namespaces_are_said_to_work_where_they_do() -> None:
    works = (
        run(["unshare", *([] if os.geteuid() == 0 else ["--user"]), "--net", "--mount", "true"]).returncode
        == 0
    )
    _, _, findings = _doctor()
    assert findings["namespaces"]["status"] == ("ok" if works else "warn")


@needs_user_namespaces
def test_a_limit_of_this_kernel_is_found_with_its_remedy(cache: Cache) -> None:
    """A user namespace has limits of its own, so the real kernel can be made to forbid what it forbids elsewhere."""
    _, document, findings = _doctor(*ROOT, "sh", "-c", NO_NETWORKS, "-")
    assert document["backends"]["host"] is False
    assert findings["namespaces"]["status"] == "warn"
    assert "root may not create them (unshare: " in findings["namespaces"]["text"]
    assert findings["net namespaces"] == {
        "name": "net namespaces",
        "status": "warn",
        "text": "the kernel allows no network namespaces: user.max_net_namespaces is 0",
        "remedy": "sudo sysctl -w user.max_net_namespaces=15000, then `tcptutor doctor` (permanent in /etc/sysctl.d/)",
    }


@needs_user_namespaces
@pytest.mark.guest
def test_where_namespaces_are_forbidden_an_experiment_runs_in_the_guest(
    mark: str, snapshots: Snapshots, cache: Cache
) -> None:
    cache.fill(snapshots)
    short = ["--set", "duration=1s", "--set", "warmup=0s", "--json"]
    done = run(
        [*ROOT, "sh", "-c", NO_NETWORKS, "-", *TCPTUTOR, "run", "parallel-streams/random-loss", *short],
        XDG_DATA_HOME=str(cache.home / "data"),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["environment"]["backend"] == "guest"


@pytest.mark.parametrize(
    ("release", "kernel", "debian"),
    [
        ({"ID": "debian", "PRETTY_NAME": "Debian GNU/Linux 13 (trixie)"}, "6.12.48+deb13-amd64", True),
        (
            {"ID": "ubuntu", "ID_LIKE": "debian", "PRETTY_NAME": "Ubuntu 24.04.1 LTS"},
            "6.8.0-41-generic",
            True,
        ),
        ({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"}, "6.8.0-41-generic", True),
        ({"ID": "fedora"}, "6.11.4-301.fc41.x86_64", False),
        ({}, "6.1.0", False),
    ],
)
def test_systems_are_recognised(release: dict[str, str], kernel: str, debian: bool) -> None:
    found = packages.recognize_system(release, kernel, "x86_64")
    assert (found.debian, found.wsl) == (debian, 0)
    assert found.name == release.get("PRETTY_NAME", "unknown Linux")


@pytest.mark.parametrize(
    ("machine", "text", "remedy"),
    [
        ("riscv64", "there is no guest for riscv64 machines", "own kernel"),
        ("aarch64", "qemu-system-aarch64 is missing: there is no guest (arm64)", "qemu-system-arm"),
        ("x86_64", "qemu-system-x86_64 is missing: there is no guest (amd64)", "qemu-system-x86"),
    ],
)
def test_the_machine_says_which_qemu_it_needs(
    cache: Cache, monkeypatch: pytest.MonkeyPatch, machine: str, text: str, remedy: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(lab_programs, "PATH", "")
    findings, runnable = check_guest.check(guest_parts.snapshots_here())
    assert not runnable
    assert (findings[0].name, findings[0].status, findings[0].text) == ("qemu", "warn", text)
    assert remedy in findings[0].remedy


def test_another_architectures_guest_is_said_to_be_emulated(
    cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    foreign = next(one for one in architecture.ALL if not one.native)
    monkeypatch.setenv(architecture.VARIABLE, foreign.name)
    finding = check_guest.check_virtualization(Snapshots())
    assert finding.status == "warn"
    assert f"the guest is {foreign.name}, this machine is not" in finding.text
    monkeypatch.setenv(architecture.VARIABLE, "vax")
    code, shown = in_terminal(DOCTOR)
    assert (code, shown) == (3, "tcptutor: TCPTUTOR_GUEST_ARCH is 'vax': use amd64 or arm64, or unset it\n")


def test_virtualisation_that_does_not_boot_is_remembered(
    mark: str, snapshots: Snapshots, cache: Cache
) -> None:
    cache.fill(snapshots)
    (cache.guest / "real.json").unlink()
    assert check_guest.kvm_works(Snapshots(), limit=0.3) is False
    assert cache.unfinished() == []
    (cache.guest / "image" / "image.json").unlink()
    assert check_guest.kvm_works(Snapshots()) is False
    (cache.home / "tcptutor" / "kvm.json").unlink()
    assert check_guest.kvm_works(Snapshots()) is None


def test_virtualisation_that_is_not_there(
    tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_guest, "KVM_DEVICE", tmp_path / "kvm")
    finding = check_guest.check_virtualization(Snapshots())
    assert (finding.status, finding.text) == (
        "warn",
        f"no {tmp_path}/kvm: the guest is emulated: accurate but slower",
    )


@pytest.mark.parametrize(
    ("size", "term", "status", "text"),
    [
        ((120, 40), "xterm-256color", "ok", "xterm-256color, 120 x 40, 256 colors"),
        ((80, 24), "xterm", "ok", "xterm, 80 x 24, 16 colors"),
        ((79, 24), "xterm", "warn", "xterm, 79 x 24, 16 colors"),
        ((120, 40), "vt100", "warn", "vt100, 120 x 40, no colors"),
        ((120, 40), "dumb", "warn", "TERM is dumb"),
        (
            (120, 40),
            "linux",
            "warn",
            "linux, 120 x 40, 16 colors: the console's font has no fine dots, so charts are drawn in blocks",
        ),
    ],
)
def test_terminals(size: tuple[int, int], term: str, status: str, text: str) -> None:
    _, shown = in_terminal([*LOOK, "0"], size=size, TERM=term, COLORTERM="", NO_COLOR="")
    assert shown.strip() == f"{status}|{text}"


def test_colors_that_are_turned_off_are_told() -> None:
    _, shown = in_terminal([*LOOK, "0"], size=(120, 40), TERM="xterm-256color", COLORTERM="", NO_COLOR="1")
    assert shown.strip() == "ok|xterm-256color, 120 x 40, 256 colors, turned off (NO_COLOR)"


def test_what_the_readme_shows_and_is_missing_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_extras()[0].status == "ok"
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setenv("PATH", "/nowhere")
    plots, tmux = doctor.check_extras()
    assert (plots.status, tmux.status) == ("warn", "warn")
    assert plots.remedy.endswith("-m pip install 'matplotlib>=3.8,<4'")
    assert "tmux" in tmux.remedy


def test_matplotlib_is_asked_for_as_the_package_does() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert project["project"]["optional-dependencies"]["plot"] == [places.MATPLOTLIB]


def test_a_pipe_is_no_terminal() -> None:
    assert run([*LOOK, "0"]).stdout == "warn|none\n"


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [
        ("C.UTF-8", "ok", "C.UTF-8, UTF-8"),
        ("C", "warn", "C: the encoding is ascii"),
        ("xx_YY.UTF-8", "warn", "xx_YY.UTF-8 is not installed here"),
    ],
)
def test_locales(name: str, status: str, text: str) -> None:
    assert run([*LOOK, "1"], LC_ALL=name).stdout.strip() == f"{status}|{text}"


@pytest.mark.guest
def test_in_a_terminal_every_warning_is_followed_by_what_to_do(mark: str, snapshots: Snapshots) -> None:
    code, shown = in_terminal(DOCTOR, TERM="xterm-256color", NO_COLOR="1")
    lines = shown.splitlines()
    assert code == 0
    assert lines[-1].split()[:2] == ["ok", "lab"]
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("warn"):
            assert following.strip().startswith("to do: ")
