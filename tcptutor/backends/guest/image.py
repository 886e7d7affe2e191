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
"""Remedy for a full or unwritable disk."""

WAITING = "another tcptutor is building it: waiting"
"""Progress text while a build waits for a concurrent build."""
_AGAIN = "run `tcptutor setup` to rebuild it"
_NOT_BUILT = "the guest image is not built yet: run `tcptutor setup`"
_DAMAGED = f"the guest image is damaged: {_AGAIN}"


class _Manifest(msgspec.Struct, frozen=True):
    """Description of an image, stored next to it."""

    recipe: str
    kernel: str
    """The kernel's release."""
    files: dict[str, FileDigest]
    packages: dict[str, str] = {}
    """Version of each Debian package."""
    tools: dict[str, str] = {}
    """Version line of each program that packed the files."""


class Image:
    """An image in its folder: `vmlinuz`, `base.cpio` and `image.json`, which is written last."""

    def __init__(self, folder: Path, architecture: Architecture) -> None:
        self.folder, self.architecture = folder, architecture
        self.kernel = folder / "vmlinuz"
        self.base = folder / "base.cpio"
        self.lock = folder.with_name(f"{folder.name}.lock")
        self._manifest = folder / "image.json"

    def check(self, *, thorough: bool = False) -> None:
        """Raise ImageDamaged unless the image matches the recipe and its files are intact.

        `thorough` checks every byte rather than a few places.
        """
        manifest = self._read_manifest()
        try:
            sound = all(
                path.name in manifest.files and manifest.files[path.name].matches(path, thorough=thorough)
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
        """The files of the image, the manifest first."""
        return self._manifest, *self._contents

    def _read_manifest(self) -> _Manifest:
        if not os.path.lexists(self._manifest):
            raise ImageDamaged(_NOT_BUILT)
        try:
            with files.open_bounded(self._manifest, digests.KIND) as text:
                return msgspec.json.decode(text, type=_Manifest)
        except TutorError:
            raise ImageDamaged(_DAMAGED) from None

    def write_manifest(self, version: str, packages: dict[str, str], tools: dict[str, str]) -> None:
        """Write the manifest; `version` is the kernel's release. Raises OSError."""
        contents = {path.name: FileDigest.of(path) for path in self._contents}
        manifest = _Manifest(recipe.key(self.architecture), version, contents, packages, tools)
        self._manifest.write_bytes(msgspec.json.encode(manifest))

    def composition(self) -> dict[str, str]:
        """Return the parts of the image, named as in `run.lab_parts`. Raises ImageDamaged without a manifest."""
        manifest = self._read_manifest()
        return {
            **{f"{lab_parts.IMAGE}{name}": digest.whole for name, digest in manifest.files.items()},
            **{f"{lab_parts.PACKAGE}{name}": version for name, version in manifest.packages.items()},
            **{f"{lab_parts.TOOL}{name}": version for name, version in manifest.tools.items()},
        }

    def size(self) -> int:
        """Return the size on disk, bytes."""
        return sum(path.stat().st_size for path in self.files if path.is_file())

    def build(self, progress: Progress, versions: Mapping[str, str] | None = None) -> None:
        """Build the image in a temporary folder and move it into place. Raises SetupError.

        The result of a concurrent build is used as it is. `versions` pins Debian packages to other versions than
        today's.
        """
        try:
            with locks.hold(self.lock, lambda: progress(0.0, WAITING)) as waited:
                if waited and self._is_valid():
                    progress(1.0, BUILT)
                else:
                    self._build(progress, versions or {})
        except OSError as error:
            raise SetupError(
                f"the guest image cannot be built: {error.filename or self.folder}: {refused(error, ELSEWHERE)}"
            ) from error

    def _is_valid(self) -> bool:
        try:
            self.check()
        except ImageDamaged:
            return False
        return True

    def _build(self, progress: Progress, versions: Mapping[str, str]) -> None:
        with self.replacement() as part:
            build = Build(part, self.architecture, progress, versions)
            version = build.run()
            Image(part, self.architecture).write_manifest(version, build.packages, debian.tool_versions())

    @contextlib.contextmanager
    def replacement(self) -> Iterator[Path]:
        """Yield a new folder that replaces this image's at the end of the block, unless the block raises.

        The caller must hold the lock. Raises OSError.
        """
        part = self.folder.with_name(f"{self.folder.name}.{os.getpid()}.part")
        try:
            part.mkdir(parents=True)
            yield part
            digests.clear(self.folder)
            part.rename(self.folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
