"""One guest for each architecture: what differs between them, and that nothing of one is taken for another's."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path
from typing import Any

import pytest

from tcptutor import theory
from tcptutor.backends import programs
from tcptutor.backends.guest import architecture, image, machine, recipe
from tcptutor.backends.guest.architecture import AMD64, ARM64, Architecture
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.image_build import Bytecode
from tcptutor.backends.guest.machine import Mode
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import ImageDamaged, LabUnavailable, SetupError
from tcptutor.install import packages
from tests.backends.play import play, total_bps
from tests.conftest import Build

FOREIGN = next(one for one in architecture.ALL if not one.native)


@pytest.fixture
def all_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every program is there, by its bare name."""
    monkeypatch.setattr(programs, "find", lambda name: name)


COMMAND = (
    "-nodefaults -no-user-config -display none -no-reboot -machine {board} -smp 1 "
    "-m 384 {accelerator} -chardev stdio,id=console,signal=off -serial chardev:console -chardev socket,id=agent,fd=3 "
    "-device virtio-serial-pci -device virtserialport,chardev=agent,name=tcptutor -object "
    "memory-backend-file,id=output,share=on,mem-path=/proc/self/fd/5,size=16777216 -device "
    "ivshmem-plain,memdev=output,master=on -chardev socket,id=monitor,fd=4 -mon chardev=monitor,mode=control"
)
VIRTUAL = (
    "-accel tcg,thread=single,tb-size=256 -icount shift=0,sleep=off{exact} "
    "-cpu {cpu} -rtc base=2025-01-01T00:00:00,clock=vm -seed 1 -device i6300esb -action watchdog=pause"
)
REAL = "-accel tcg,thread=multi,tb-size=256 -cpu {cpu}"


@pytest.mark.parametrize(("one", "board", "cpu"), [(AMD64, "pc", "Nehalem"), (ARM64, "virt", "cortex-a57")])
def test_qemus_command_line(one: Architecture, board: str, cpu: str) -> None:
    def words(accelerator: str, exact: str = "") -> list[str]:
        return COMMAND.format(board=board, accelerator=accelerator.format(cpu=cpu, exact=exact)).split()

    def told(*mode: Any) -> list[str]:
        return machine.command(one, Mode(*mode), 3, 4, 5)

    assert told("virtual") == words(VIRTUAL)
    assert told("virtual", False, True) == words(VIRTUAL, ",rr=record,rrfile=/dev/null")
    assert told("real", False, True) == words(REAL)
    assert told("real", True) == words("-accel kvm -cpu host")


def test_the_kernels_command_line() -> None:
    common = (
        "quiet panic=-1 random.trust_cpu=off mitigations=off nokaslr norandmaps randomize_kstack_offset=off "
        "ipv6.disable=1 init_on_alloc=0 audit=0 nowatchdog lsm= psi=0 hardened_usercopy=off"
    )
    clock = "tcptutor.clock={clock}"
    assert machine.kernel_command(AMD64) == f"console=ttyS0 {common} tsc=reliable {clock}"
    assert machine.kernel_command(ARM64) == f"console=ttyAMA0 {common} {clock}"


def test_the_images_packages_differ_by_the_kernel_alone() -> None:
    amd64, arm64 = (set(recipe.package_names(one)) for one in (AMD64, ARM64))
    assert (amd64 - arm64, arm64 - amd64) == ({"linux-image-cloud-amd64"}, {"linux-image-cloud-arm64"})
    assert {"mininet", "iperf3", "busybox-static", "python3-pyroute2"} <= amd64
    assert recipe.key(AMD64) != recipe.key(ARM64)


@pytest.mark.parametrize(
    ("one", "package"), [(AMD64, "qemu-system-x86"), (ARM64, "qemu-system-arm")], ids=["amd64", "arm64"]
)
def test_setup_installs_the_architectures_qemu_and_no_other(
    monkeypatch: pytest.MonkeyPatch, one: Architecture, package: str
) -> None:
    monkeypatch.setenv(architecture.VARIABLE, one.name)
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    built = {each.name for each in packages.missing_for_guest()} - {"debian-archive-keyring"}
    assert built == {"mmdebstrap", "squashfs-tools-ng", "kmod", "zstd", "util-linux", package}
    assert {each.name for each in packages.missing_for_guest(building=False)} == {
        "zstd",
        "util-linux",
        package,
    }
    assert {each.reason for each in packages.missing_for_guest() if each.name == package} == {
        "runs the guest"
    }


@pytest.mark.parametrize(("found", "name"), [("x86_64", "amd64"), ("aarch64", "arm64")])
def test_a_machine_gets_a_guest_of_its_own_architecture(
    monkeypatch: pytest.MonkeyPatch, found: str, name: str
) -> None:
    monkeypatch.delenv(architecture.VARIABLE, raising=False)
    monkeypatch.setattr(platform, "machine", lambda: found)
    assert architecture.chosen().name == name
    assert Snapshots().folder.name == "guest"


def test_a_machine_without_a_guest_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(architecture.VARIABLE, raising=False)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert not architecture.possible()
    assert packages.missing_for_guest() == []
    with pytest.raises(LabUnavailable, match="riscv64 machines: use --backend host"):
        architecture.chosen()
    monkeypatch.setenv(architecture.VARIABLE, "arm64")
    assert architecture.chosen() is ARM64
    monkeypatch.setenv(architecture.VARIABLE, "aarch64")
    with pytest.raises(LabUnavailable, match="use amd64 or arm64"):
        architecture.chosen()


def test_a_foreign_guest_has_a_folder_and_keys_of_its_own(
    all_programs: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(architecture.VARIABLE, FOREIGN.name)
    assert Snapshots().folder == tmp_path / "tcptutor" / f"guest-{FOREIGN.name}"
    monkeypatch.delenv(architecture.VARIABLE)
    own = Snapshots()
    assert own.folder == tmp_path / "tcptutor" / "guest"
    # Even in one folder, an image of one is not taken for the other's.
    own.image.folder.mkdir(parents=True)
    for file in (own.image.kernel, own.image.base):
        file.write_bytes(b"")
    own.image.write_manifest("6.12", {}, {})
    own.image.check()
    with pytest.raises(ImageDamaged, match="another version"):
        Snapshots(own.folder, FOREIGN).image.check()


async def test_hardware_virtualisation_is_not_tried_for_a_foreign_guest(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried = []

    async def boot(self: machine.Machine, mode: Mode, _image: image.Image) -> None:
        tried.append((self.architecture.name, mode.kvm))
        raise SetupError("far enough")

    snapshots = Snapshots(tmp_path, FOREIGN)
    snapshots.image.folder.mkdir()
    monkeypatch.setattr(snapshots.image, "check", lambda **_: None)
    monkeypatch.setattr(machine.Machine, "boot", boot)
    monkeypatch.setattr("os.access", lambda *_: True)
    with pytest.raises(SetupError, match="far enough"):
        await snapshots.build("real", lambda _share, _text: None)
    assert tried == [(FOREIGN.name, False)]


def test_a_python_that_cannot_run_here_leaves_the_compiling_to_the_guest(tmp_path: Path) -> None:
    (tmp_path / "usr/bin").mkdir(parents=True)
    (tmp_path / "usr/bin/python3.13").write_bytes(b"")
    loader = tmp_path / f"usr/lib/{FOREIGN.triplet}/ld-linux-{FOREIGN.machine}.so.1"
    loader.parent.mkdir(parents=True)
    loader.write_bytes(b"\x7fELF of another machine")
    loader.chmod(0o755)
    assert list(Bytecode(tmp_path).make()) == []


@pytest.fixture
def foreign(mark: str) -> Snapshots:
    """The foreign guest, where somebody has built it: emulating it takes a minute, so no check needs it."""
    found = Snapshots(architecture=FOREIGN)
    try:
        found.manifest("virtual")
    except LabUnavailable as error:
        pytest.skip(
            f"no {FOREIGN.name} guest to try ({architecture.VARIABLE}={FOREIGN.name} builds one): {error}"
        )
    return found


async def test_the_foreign_guest_measures_what_ours_does(foreign: Snapshots, build: Build) -> None:
    backend = GuestBackend("virtual", foreign)
    try:
        run = await play(
            backend,
            build(rate="20 Mbit/s", delay="10 ms", algorithm="cubic", duration="2 s", warmup="1 s"),
        )
    finally:
        await backend.close()
    assert run.environment.kernel.endswith(f"-{FOREIGN.name}")
    assert total_bps(run) == pytest.approx(20e6 * theory.goodput_ratio(1500), rel=0.02)
    assert run.fidelity.checks["ping h1"] == pytest.approx(0.010, rel=0.01)
    assert run.fidelity.status == "valid", run.fidelity.reasons
