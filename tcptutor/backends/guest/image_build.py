"""Builder of the guest's image without root: from packages to a kernel and an initial RAM disk.

`mmdebstrap` fetches and extracts the packages without installing them or running maintainer scripts; files the lab
does not need are dropped from the stream, and the rest becomes a squashfs file inside the RAM disk. So a guest has no
disk that could be late on the virtual clock, and its snapshot holds only pages that were read.

The packages contain Python sources only, and compiling the agent's imports takes an emulated processor half a minute.
So the guest's own Python compiles them on this machine, through its own loader and libraries, without root or chroot.
An interpreter of a foreign architecture does not run here; the guest then compiles once, before its snapshot.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import io
import lzma
import os
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tcptutor.backends import programs
from tcptutor.backends.guest import recipe
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.base.errors import SetupError

BUILT = "image built"
"""Final progress text."""
_LIST = "tcptutor-packages"
"""File added to the package stream with the names of the packages that apt fetched."""

Progress = Callable[[float, str], None]
"""Callback for the progress of a part: its share done (0 to 1), and the current step."""


class Build:
    """A build of the image into `folder`: packages to tar stream to squashfs and kernel."""

    def __init__(
        self, folder: Path, architecture: Architecture, progress: Progress, versions: Mapping[str, str]
    ) -> None:
        self.folder, self.architecture, self.progress = folder, architecture, progress
        self.versions = versions
        self.left_out = recipe.left_out(architecture)
        self.modules = folder / "modules"
        self.bytecode = Bytecode(folder / "python")
        self.busybox = b""
        self.version = ""
        self.packages: dict[str, str] = {}

    def run(self) -> str:
        """Build the image and return the kernel's release. Raises SetupError, and OSError when the disk is full."""
        root = self.folder / "root.sqfs"
        self._root(root)
        self.progress(0.9, "packing the image")
        lib = self.modules / "lib" / "modules" / self.version
        entries = [recipe.folder(name) for name in ("bin", "proc", "dev", "root", "agent")]
        entries += [
            recipe.file("init", recipe.INIT.encode(), 0o755),
            recipe.file("bin/busybox", self.busybox, 0o755),
        ]
        entries += [recipe.file(Path(name).name, (lib / name).read_bytes()) for name in recipe.MODULES_FIRST]
        entries += [recipe.file("root.sqfs", root.read_bytes())]
        (self.folder / "base.cpio").write_bytes(recipe.archive(entries))
        root.unlink()
        shutil.rmtree(self.modules)
        shutil.rmtree(self.bytecode.folder)
        self.progress(1.0, BUILT)
        return self.version

    def _root(self, output: Path) -> None:
        log = self.folder / "log"
        fetch = [
            programs.find("mmdebstrap"),
            "--variant=extract",
            "--mode=chrootless",
            # Newer versions refuse root in this mode because of maintainer scripts, but "extract" runs none. So a
            # foreign architecture's packages need no emulator either.
            "--skip=check/chrootless",
            *([f"--keyring={recipe.KEYRING}"] if recipe.KEYRING.exists() else []),
            "--format=tar",
            f'--extract-hook=ls "$1"/var/cache/apt/archives > "$1"/{_LIST}',
            f"--architectures={self.architecture.name}",
            f"--include={recipe.package_list(recipe.package_names(self.architecture), self.versions)}",
            "--aptopt=Apt::Install-Recommends false",
            "--aptopt=Acquire::Languages none",
            recipe.SUITE,
            "-",
        ]
        pack = [
            programs.find("tar2sqfs"), "--quiet", "--no-skip", "--compressor", "zstd", "-X", "level=9", "--force",
            str(output),
        ]  # fmt: skip
        self.progress(0.02, "fetching Debian packages")
        with log.open("wb") as errors:
            # mmdebstrap needs 430 MB of temporary space, too much for a /tmp in memory.
            environment = {**os.environ, "TMPDIR": str(self.folder.absolute())}
            source = subprocess.Popen(
                programs.tie_tree_to_parent(os.getpid(), fetch), stdout=subprocess.PIPE, stderr=errors,
                stdin=subprocess.DEVNULL, env=environment, start_new_session=True,
            )  # fmt: skip
            sink = subprocess.Popen(
                programs.tie_to_parent(os.getpid(), pack), stdin=subprocess.PIPE, stdout=errors, stderr=errors
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
                _kill_group(source)
                raise SetupError(_reason(log) or f"the guest image cannot be built: {error}") from error
            except BaseException:
                _kill_group(source)
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
        for number, member in enumerate(packages):
            name = member.name.removeprefix("./")
            if name.startswith("boot/vmlinuz-"):
                self.version = name.removeprefix("boot/vmlinuz-")
                (self.folder / "vmlinuz").write_bytes(_read(packages, member))
            elif name.startswith("usr/lib/modules/"):
                self._module(packages, member, name)
            elif name == _LIST:
                self.packages = recipe.parse_versions(_read(packages, member).decode().splitlines())
            elif not name.startswith(self.left_out) and name != ".":
                # Read the data now: a stream cannot seek back.
                data = _read(packages, member) if member.isreg() else b""
                if name == "usr/bin/busybox":
                    self.busybox = data
                self.bytecode.take(name, member, data)
                member.uid = member.gid = member.mtime = 0
                member.uname = member.gname = ""
                root.addfile(member, io.BytesIO(data))
            if number % 500 == 0:
                # 0.5: the stream starts only after everything has been fetched.
                self.progress(min(0.85, 0.5 + number / 25000), "packing the lab's files")
        _add(root, "agent", None)

    def _module(self, packages: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> None:
        inside = name.split("/", 4)[-1] if name.count("/") >= 4 else ""
        wanted = inside.startswith((*recipe.MODULES, *recipe.MODULES_FIRST, "modules."))
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
            [programs.find("depmod"), "-b", str(self.modules), self.version], check=True, capture_output=True
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


def _kill_group(process: subprocess.Popen[bytes]) -> None:  # with its children: apt would go on fetching
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _add(tar: tarfile.TarFile, name: str, data: bytes | None) -> None:
    """Add a file to `tar`, or a folder when `data` is None."""
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
    reason = recipe.failure_reason(log)
    return f"the guest image cannot be built: {reason}" if reason else ""


_PACKAGES = ("mininet", "msgspec", "packaging", "pyroute2", "pr2modules")
_LOADERS = "usr/lib/*-linux-gnu/ld-linux-*.so.*"
_PR_SET_PDEATHSIG = 1
"""sys/prctl.h"""
_libc = ctypes.CDLL(None)


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Bytecode:
    """A copy of the guest's Python in `folder`, and the bytecode compiled with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def take(self, name: str, member: tarfile.TarInfo, data: bytes) -> None:
        """Copy the guest's file `name` if its Python needs it."""
        library = name.startswith("usr/lib/") and name.count("/") == 3 and ".so" in name
        if not (library or name.startswith(("usr/lib/python3", "usr/bin/python3."))):
            return
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if member.issym():
            target.symlink_to(member.linkname)
        elif member.isreg():
            target.write_bytes(data)
            target.chmod(member.mode)

    def make(self) -> Iterator[tuple[str, bytes]]:
        """Yield the bytecode files with their names in the guest; none when its Python does not run here."""
        loader = next(self.folder.glob(_LOADERS), None)
        python = next(self.folder.glob("usr/bin/python3.[0-9]*[0-9]"), None)
        if loader is None or python is None:
            return
        usr = self.folder / "usr"
        trees = [usr / "lib" / python.name, *(usr / "lib/python3/dist-packages" / name for name in _PACKAGES)]
        try:
            subprocess.run(
                [
                    loader, "--library-path", loader.parent, python, "-m", "compileall",
                    "-q", "-x", "/(test|idlelib|lib2to3)/",
                    # The sources' dates change on the way into the image, which must not invalidate the bytecode.
                    "--invalidation-mode", "unchecked-hash",
                    "-s", self.folder, "-p", "/",
                    *(tree for tree in trees if tree.exists()),
                ],
                env={"PYTHONHOME": str(usr), "PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                check=False,
                preexec_fn=_end_with_parent,
            )  # fmt: skip
        except OSError as error:
            if error.errno == errno.ENOEXEC:
                return
            raise
        for path in sorted(usr.rglob("*.pyc")):
            yield str(path.relative_to(self.folder)), path.read_bytes()
