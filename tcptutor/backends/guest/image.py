"""The guest's image: a stock Debian kernel, and an initial RAM disk with a squashfs root, built once without root.

`mmdebstrap` fetches and extracts the packages (nothing is installed, no script of theirs runs); what the lab does
not need is left out on the way, and the rest becomes one compressed file inside the RAM disk. So a guest has no
disk that could be late on the virtual clock, and its snapshot holds only what was read.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import lzma
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from tcptutor import files
from tcptutor.backends import ending, locks, tools
from tcptutor.backends.guest import debian, digests, initramfs
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.backends.guest.bytecode import Bytecode
from tcptutor.backends.guest.digests import FileDigest
from tcptutor.errors import ImageDamaged, SetupError, TutorError, refused
from tcptutor.run import lab

SUITE = "trixie"
PACKAGES = (
    "base-files", "base-passwd", "bash", "bridge-utils", "busybox-static", "coreutils", "dash", "ethtool",
    "grep", "iperf3", "iptables", "iproute2", "iputils-ping", "kmod", "libc-bin", "mawk", "mininet", "mount",
    "net-tools", "procps", "python3-minimal", "python3-msgspec", "python3-pyroute2", "sed", "tcpdump",
    "util-linux",
)  # fmt: skip
"""Besides the architecture's kernel."""

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""Debian's keys, where its package puts them; apt on Ubuntu does not trust them by itself."""

_LEFT_OUT = (
    "boot/", "usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/info/", "usr/share/lintian/",
    "usr/share/bug/", "usr/share/perl", "usr/lib/systemd/", "usr/lib/udev/", "usr/share/zoneinfo/",
    "usr/share/mime/", "var/cache/", "var/lib/apt/", "var/lib/dpkg/", "usr/lib/{triplet}/perl",
    "usr/lib/{triplet}/systemd/", "usr/bin/perl", "usr/share/initramfs-tools/", "usr/share/python-wheels/",
    "usr/lib/python3/dist-packages/setuptools/", "usr/lib/python3/dist-packages/pkg_resources/",
    "usr/lib/python3/dist-packages/inflect", "usr/lib/python3/dist-packages/typeguard",
    "usr/lib/python3.13/test/", "usr/share/bash-completion/", "usr/share/keyrings/",
    # Of the machine that builds.
    "etc/apt/", "etc/hostname", "etc/resolv.conf", "var/log/",
)  # fmt: skip
_MODULES = (
    "kernel/net/", "kernel/drivers/net/veth", "kernel/drivers/net/ifb", "kernel/drivers/net/dummy",
    "kernel/lib/", "kernel/crypto/",
)  # fmt: skip
_MODULES_FIRST = ("kernel/drivers/block/loop.ko", "kernel/fs/squashfs/squashfs.ko")
"""What the RAM disk needs to reach the root."""

_INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox insmod /loop.ko
/bin/busybox insmod /squashfs.ko
/bin/busybox mount -t squashfs -o loop,ro /root.sqfs /root
for folder in tmp run var/tmp agent; do /bin/busybox mount -t tmpfs none /root/$folder; done
/bin/busybox cp -r /agent/. /root/agent/
/bin/busybox mount -t devtmpfs dev /root/dev
/bin/busybox mkdir -p /root/dev/pts /root/dev/shm
/bin/busybox mount -t devpts -o ptmxmode=666 pts /root/dev/pts
/bin/busybox mount -t tmpfs shm /root/dev/shm
/bin/busybox mount -t proc proc /root/proc
/bin/busybox mount -t sysfs sys /root/sys
/bin/busybox umount /proc /dev
# A plain chroot would not do: entering a lab host's mount namespace would leave it again.
exec /bin/busybox switch_root /root /bin/sh /agent/start
"""

ELSEWHERE = "set XDG_CACHE_HOME to a folder on another disk"
"""How a user gives the guest another place."""

WAITING = "another tcptutor is building it: waiting"
"""What a builder tells of its progress while it waits for another."""
_BUILT = "image built"
_AGAIN = "run `tcptutor setup` to build it again"
_NOT_BUILT = "the guest image is not built yet: run `tcptutor setup`"
_DAMAGED = f"the guest image is damaged: {_AGAIN}"
_LIST = "tcptutor-packages"
"""A file that is put beside the packages' own, and left out: what apt fetched."""

Progress = Callable[[float, str], None]
"""A function that is told how far a part has come (0 to 1), and what is done now."""


def package_names(architecture: Architecture) -> list[str]:
    """The Debian packages of a guest of `architecture`."""
    return sorted([*PACKAGES, architecture.kernel_package])


def _left_out(architecture: Architecture) -> tuple[str, ...]:
    return tuple(path.format(triplet=architecture.triplet) for path in _LEFT_OUT)


def recipe(architecture: Architecture) -> str:
    """A key of all that the image is made from; another one needs another image."""
    parts = [package_names(architecture), _left_out(architecture), _MODULES, _MODULES_FIRST, _INIT]
    text = json.dumps([SUITE, *parts, architecture.name])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class _Manifest(msgspec.Struct, frozen=True):
    """What is known of an image."""

    recipe: str
    kernel: str
    """Its release."""
    files: dict[str, FileDigest]
    packages: dict[str, str] = {}
    """The versions of Debian's packages, by their names."""
    tools: dict[str, str] = {}
    """What the programs that packed them say of themselves."""


class Image:
    """The image in its folder: `vmlinuz`, `base.cpio` and `image.json`, which is written last."""

    def __init__(self, folder: Path, architecture: Architecture) -> None:
        self.folder, self.architecture = folder, architecture
        self.kernel = folder / "vmlinuz"
        self.base = folder / "base.cpio"
        self.lock = folder.with_name(f"{folder.name}.lock")
        self._manifest = folder / "image.json"

    def check(self, *, whole: bool = False) -> None:
        """Raises ImageDamaged unless the image is of this recipe and, by a few places or as a `whole`, undamaged."""
        manifest = self._read_manifest()
        try:
            sound = all(
                path.name in manifest.files and manifest.files[path.name].fits(path, whole=whole)
                for path in self._contents
            )
        except FileNotFoundError:
            raise ImageDamaged(_NOT_BUILT) from None
        if manifest.recipe != recipe(self.architecture):
            raise ImageDamaged(f"the guest image is of another version: {_AGAIN}")
        if not sound:
            raise ImageDamaged(_DAMAGED)

    @property
    def _contents(self) -> tuple[Path, Path]:
        return self.kernel, self.base

    @property
    def files(self) -> tuple[Path, ...]:
        """All that it consists of; what describes the others is the first."""
        return self._manifest, *self._contents

    def _read_manifest(self) -> _Manifest:
        if not os.path.lexists(self._manifest):
            raise ImageDamaged(_NOT_BUILT)
        try:
            with files.opened(self._manifest, digests.KIND) as text:
                return msgspec.json.decode(text, type=_Manifest)
        except TutorError:
            raise ImageDamaged(_DAMAGED) from None

    def describe(self, version: str, packages: dict[str, str], tools: dict[str, str]) -> None:
        """Write down what its files are and come from; `version` is the kernel's release. Raises OSError."""
        contents = {path.name: FileDigest.of(path) for path in self._contents}
        manifest = _Manifest(recipe(self.architecture), version, contents, packages, tools)
        self._manifest.write_bytes(msgspec.json.encode(manifest))

    def composition(self) -> dict[str, str]:
        """What it is made of, as `run.lab` has it. Raises ImageDamaged when it is not known."""
        manifest = self._read_manifest()
        return {
            **{f"{lab.IMAGE}{name}": digest.whole for name, digest in manifest.files.items()},
            **{f"{lab.PACKAGE}{name}": version for name, version in manifest.packages.items()},
            **{f"{lab.TOOL}{name}": said for name, said in manifest.tools.items()},
        }

    def size(self) -> int:
        """Bytes on disk."""
        return sum(path.stat().st_size for path in self.files if path.is_file())

    def build(self, progress: Progress, versions: Mapping[str, str] | None = None) -> None:
        """Build it beside its place and move it there whole, of packages in these `versions` where some are given.
        Raises SetupError.

        When another program is building it, that is waited for and the result taken.
        """
        try:
            with locks.held(self.lock, lambda: progress(0.0, WAITING)) as waited:
                if waited and self._whole():
                    progress(1.0, _BUILT)
                else:
                    self._build(progress, versions or {})
        except OSError as error:
            raise SetupError(
                f"the guest image cannot be built: {error.filename or self.folder}: {refused(error, ELSEWHERE)}"
            ) from error

    def _whole(self) -> bool:
        try:
            self.check()
        except ImageDamaged:
            return False
        return True

    def _build(self, progress: Progress, versions: Mapping[str, str]) -> None:
        with self.replaced() as beside:
            build = _Build(beside, self.architecture, progress, versions)
            version = build.run()
            Image(beside, self.architecture).describe(version, build.packages, debian.packed_by())

    @contextlib.contextmanager
    def replaced(self) -> Iterator[Path]:
        """A new folder for another image, which takes this one's place at the end of the block, unless that raises.

        For who holds the lock. Raises OSError.
        """
        beside = self.folder.with_name(f"{self.folder.name}.{os.getpid()}.part")
        try:
            beside.mkdir(parents=True)
            yield beside
            digests.clear(self.folder)
            beside.rename(self.folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


class _Build:
    """One build: packages to tar stream to squashfs and kernel."""

    def __init__(
        self, folder: Path, architecture: Architecture, progress: Progress, versions: Mapping[str, str]
    ) -> None:
        self.folder, self.architecture, self.progress = folder, architecture, progress
        self.versions = versions
        self.left_out = _left_out(architecture)
        self.modules = folder / "modules"
        self.bytecode = Bytecode(folder / "python")
        self.busybox = b""
        self.version = ""
        self.packages: dict[str, str] = {}

    def run(self) -> str:
        root = self.folder / "root.sqfs"
        self._root(root)
        self.progress(0.9, "packing the image")
        lib = self.modules / "lib" / "modules" / self.version
        entries = [initramfs.folder(name) for name in ("bin", "proc", "dev", "root", "agent")]
        entries += [
            initramfs.file("init", _INIT.encode(), 0o755),
            initramfs.file("bin/busybox", self.busybox, 0o755),
        ]
        entries += [initramfs.file(Path(name).name, (lib / name).read_bytes()) for name in _MODULES_FIRST]
        entries += [initramfs.file("root.sqfs", root.read_bytes())]
        (self.folder / "base.cpio").write_bytes(initramfs.archive(entries))
        root.unlink()
        shutil.rmtree(self.modules)
        shutil.rmtree(self.bytecode.folder)
        self.progress(1.0, _BUILT)
        return self.version

    def _root(self, output: Path) -> None:
        log = self.folder / "log"
        fetch = [
            tools.find("mmdebstrap"),
            "--variant=extract",
            "--mode=chrootless",
            # Newer ones refuse root in this mode, for the packages' scripts; "extract" runs none. So a foreign
            # architecture's packages need nothing that could run them.
            "--skip=check/chrootless",
            *([f"--keyring={KEYRING}"] if KEYRING.exists() else []),
            "--format=tar",
            f'--extract-hook=ls "$1"/var/cache/apt/archives > "$1"/{_LIST}',
            f"--architectures={self.architecture.name}",
            f"--include={debian.asked_for(package_names(self.architecture), self.versions)}",
            "--aptopt=Apt::Install-Recommends false",
            "--aptopt=Acquire::Languages none",
            SUITE,
            "-",
        ]
        pack = [
            tools.find("tar2sqfs"), "--quiet", "--no-skip", "--compressor", "zstd", "-X", "level=9", "--force",
            str(output),
        ]  # fmt: skip
        self.progress(0.02, "fetching Debian packages")
        with log.open("wb") as errors:
            # It takes 430 MB on its way: /tmp, often memory, may be too small for that.
            there = {**os.environ, "TMPDIR": str(self.folder.absolute())}
            source = subprocess.Popen(
                ending.all_ended_with(os.getpid(), fetch), stdout=subprocess.PIPE, stderr=errors,
                stdin=subprocess.DEVNULL, env=there, start_new_session=True,
            )  # fmt: skip
            sink = subprocess.Popen(
                ending.ended_with(os.getpid(), pack), stdin=subprocess.PIPE, stdout=errors, stderr=errors
            )
            try:
                assert source.stdout is not None
                assert sink.stdin is not None
                with (
                    tarfile.open(fileobj=source.stdout, mode="r|") as packages,
                    tarfile.open(fileobj=sink.stdin, mode="w|", format=tarfile.GNU_FORMAT) as root,
                ):
                    self._filter(packages, root)
                    self._add_modules(root)
                    self._add_bytecode(root)
                sink.stdin.close()
            except (tarfile.TarError, OSError) as error:
                _end(source)
                raise SetupError(_reason(log) or f"the guest image cannot be built: {error}") from error
            except BaseException:
                _end(source)
                raise
            finally:
                for stream in (source.stdout, sink.stdin):
                    with contextlib.suppress(OSError):
                        if stream is not None:
                            stream.close()
                codes = [process.wait() for process in (source, sink)]
        if any(codes):
            raise SetupError(_reason(log) or f"mmdebstrap or tar2sqfs failed (exit codes {codes})")
        log.unlink()

    def _filter(self, packages: tarfile.TarFile, root: tarfile.TarFile) -> None:
        for seen, member in enumerate(packages):
            name = member.name.removeprefix("./")
            if name.startswith("boot/vmlinuz-"):
                self.version = name.removeprefix("boot/vmlinuz-")
                (self.folder / "vmlinuz").write_bytes(_read(packages, member))
            elif name.startswith("usr/lib/modules/"):
                self._module(packages, member, name)
            elif name == _LIST:
                self.packages = debian.versions_of(_read(packages, member).decode().splitlines())
            elif not name.startswith(self.left_out) and name != ".":
                # A stream is read once, in order.
                data = _read(packages, member) if member.isreg() else b""
                if name == "usr/bin/busybox":
                    self.busybox = data
                self.bytecode.take(name, member, data)
                member.uid = member.gid = member.mtime = 0
                member.uname = member.gname = ""
                root.addfile(member, io.BytesIO(data))
            if seen % 500 == 0:
                # The stream begins when everything has been fetched.
                self.progress(min(0.85, 0.5 + seen / 25000), "packing what the lab needs")
        _add(root, "agent", None)

    def _module(self, packages: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
        inside = name.split("/", 4)[-1] if name.count("/") >= 4 else ""
        wanted = inside.startswith((*_MODULES, *_MODULES_FIRST, "modules."))
        if not member.isreg() or not wanted:
            return
        target = self.modules / name.removeprefix("usr/")
        target.parent.mkdir(parents=True, exist_ok=True)
        data = _read(packages, member)
        if target.suffix == ".xz":
            target, data = target.with_suffix(""), lzma.decompress(data)
        target.write_bytes(data)

    def _add_modules(self, root: tarfile.TarFile) -> None:
        if not self.version or not self.busybox:
            raise SetupError("the Debian packages hold no kernel or no busybox: try again later")
        subprocess.run(
            [tools.find("depmod"), "-b", str(self.modules), self.version], check=True, capture_output=True
        )
        for path in sorted((self.modules / "lib" / "modules").rglob("*")):
            _add(root, f"usr/{path.relative_to(self.modules)}", None if path.is_dir() else path.read_bytes())

    def _add_bytecode(self, root: tarfile.TarFile) -> None:
        self.progress(0.86, "compiling the guest's Python modules")
        folders: set[str] = set()
        for name, data in self.bytecode.make():
            folder = name.rpartition("/")[0]
            if folder not in folders:
                folders.add(folder)
                _add(root, folder, None)
            _add(root, name, data)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill it and what it has started: apt would go on fetching."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _add(tar: tarfile.TarFile, name: str, data: bytes | None) -> None:
    """A file of ours, or a folder when `data` is None."""
    info = tarfile.TarInfo(f"./{name}")
    if data is None:
        info.type, info.mode = tarfile.DIRTYPE, 0o755
    else:
        info.mode, info.size = 0o644, len(data)
    tar.addfile(info, io.BytesIO(data or b""))


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    source = tar.extractfile(member)
    return source.read() if source else b""


def _reason(log: Path) -> str:
    said = debian.why_not(log)
    return f"the guest image cannot be built: {said}" if said else ""
