"""The guest's image: a stock Debian kernel, and an initial RAM disk with a squashfs root; on disk, and packed."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from io import BufferedReader
from pathlib import Path

import msgspec

from tcptutor.backends.guest import cached_files, recipe
from tcptutor.backends.guest.architecture import Architecture
from tcptutor.backends.guest.cached_files import FileDigest
from tcptutor.backends.guest.image_build import BUILT, Build, Progress
from tcptutor.base import archive, decoding, files
from tcptutor.base.errors import ImageDamaged, SetupError, TutorError, refused
from tcptutor.run import lab_parts

ELSEWHERE = "set XDG_CACHE_HOME to a folder on another disk"
"""Remedy for a full or unwritable disk."""

WAITING = "another tcptutor is building it: waiting"
"""Progress text while a build waits for a concurrent build."""
_AGAIN = "run `tcptutor setup` to rebuild it"
_NOT_BUILT = "the guest image is not built yet: run `tcptutor setup`"
_DAMAGED = f"the guest image is damaged: {_AGAIN}"
_MOST = 1 << 30
"""Maximum size of a member, bytes."""
_PIECE = 1 << 20


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
            with files.open_bounded(self._manifest, cached_files.KIND) as text:
                return decoding.decode_json(text, _Manifest)
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
            with cached_files.hold(self.lock, lambda: progress(0.0, WAITING)) as waited:
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
            Image(part, self.architecture).write_manifest(version, build.packages, recipe.tool_versions())

    @contextlib.contextmanager
    def replacement(self) -> Iterator[Path]:
        """Yield a new folder that replaces this image's at the end of the block, unless the block raises.

        The caller must hold the lock. Raises OSError.
        """
        part = self.folder.with_name(f"{self.folder.name}.{os.getpid()}.part")
        try:
            part.mkdir(parents=True)
            yield part
            cached_files.clear(self.folder)
            part.rename(self.folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def pack(self, target: Path) -> None:
        """Pack this image into the file `target`.

        Raises ImageDamaged for a damaged image, TutorError when the file cannot be written.
        """
        self.check(thorough=True)
        with files.atomic(target, "choose another place") as part, part.open("wb") as packed:
            for path in self.files:
                with path.open("rb") as content:
                    size = os.fstat(content.fileno()).st_size
                    packed.write(archive.header(path.name, size))
                    shutil.copyfileobj(content, packed, _PIECE)
                    packed.write(archive.padding(size))
            packed.write(archive.end())

    def install(self, file: Path, waiting: Callable[[], None]) -> None:
        """Install the image packed in `file` in place of this one, atomically. Raises SetupError.

        `waiting` is called before waiting for a concurrent build.
        """
        try:
            with cached_files.hold(self.lock, waiting), self.replacement() as folder:
                packed = Image(folder, self.architecture)
                _unpack(file, packed)
                packed.check(thorough=True)
        except ImageDamaged as error:
            problem = "of another version" if "version" in str(error) else "damaged"
            raise SetupError(
                f"the lab in {file} is {problem}: pack it again with this tcptutor (`tcptutor lab pack`)"
            ) from error
        except OSError as error:
            raise SetupError(f"the lab in {file} cannot be installed: {refused(error, ELSEWHERE)}") from error


def _unpack(file: Path, image: Image) -> None:
    """Extract the files of `image` in their order. Raises OSError and SetupError."""
    with files.open_regular(file) as source:
        members = archive.members(source, _MOST)
        for target in image.files:
            try:
                member = next(members, None)
            except archive.NotAnArchive as error:
                raise _no_lab(file) from error
            if member is None or member.name != target.name:
                raise _no_lab(file)
            _copy(source, target, member.size)


def _copy(source: BufferedReader, target: Path, left: int) -> None:
    with target.open("wb") as copy:
        while left and (piece := source.read(min(left, _PIECE))):
            copy.write(piece)
            left -= len(piece)


def _no_lab(file: Path) -> SetupError:
    return SetupError(f"{file} is not a packed lab: make one with `tcptutor lab pack FILE`")
