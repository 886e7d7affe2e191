"""The guest's image on disk: a stock Debian kernel, and an initial RAM disk with a squashfs root."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tcptutor.backends import locks
from tcptutor.backends.guest import debian, digests, recipe
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.backends.guest.digests import FileDigest
from tcptutor.backends.guest.image_build import BUILT, Build, Progress
from tcptutor.base import files
from tcptutor.base.errors import ImageDamaged, SetupError, TutorError, refused
from tcptutor.run import lab_parts

ELSEWHERE = "set XDG_CACHE_HOME to a folder on another disk"
"""How a user gives the guest another place."""

WAITING = "another tcptutor is building it: waiting"
"""What a builder tells of its progress while it waits for another."""
_AGAIN = "run `tcptutor setup` to build it again"
_NOT_BUILT = "the guest image is not built yet: run `tcptutor setup`"
_DAMAGED = f"the guest image is damaged: {_AGAIN}"


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
        if manifest.recipe != recipe.key(self.architecture):
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
            with files.open_bounded(self._manifest, digests.KIND) as text:
                return msgspec.json.decode(text, type=_Manifest)
        except TutorError:
            raise ImageDamaged(_DAMAGED) from None

    def describe(self, version: str, packages: dict[str, str], tools: dict[str, str]) -> None:
        """Write down what its files are and come from; `version` is the kernel's release. Raises OSError."""
        contents = {path.name: FileDigest.of(path) for path in self._contents}
        manifest = _Manifest(recipe.key(self.architecture), version, contents, packages, tools)
        self._manifest.write_bytes(msgspec.json.encode(manifest))

    def composition(self) -> dict[str, str]:
        """What it is made of, as `run.lab` has it. Raises ImageDamaged when it is not known."""
        manifest = self._read_manifest()
        return {
            **{f"{lab_parts.IMAGE}{name}": digest.whole for name, digest in manifest.files.items()},
            **{f"{lab_parts.PACKAGE}{name}": version for name, version in manifest.packages.items()},
            **{f"{lab_parts.TOOL}{name}": said for name, said in manifest.tools.items()},
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
                    progress(1.0, BUILT)
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
            build = Build(beside, self.architecture, progress, versions)
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
