"""Python bytecode for the guest, compiled by the guest's own Python on this machine.

The packages contain sources only, and compiling the agent's imports takes an emulated processor half a minute. The
guest's interpreter runs here through its own loader and libraries, so neither root nor a chroot is needed. An
interpreter of a foreign architecture does not run here; the guest then compiles once, before its snapshot.
"""

from __future__ import annotations

import ctypes
import errno
import signal
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

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
