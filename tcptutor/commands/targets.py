"""Checks of output paths: a command never destroys its input or an existing file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.base.errors import UsageError

ELSEWHERE = "give another place with -o"


def check_targets(
    targets: Sequence[Path], inputs: Sequence[Path], *, replace: bool, elsewhere: str = ELSEWHERE
) -> None:
    """Check all targets before the first is written.

    Args:
        targets: The files to write.
        inputs: The files that are read.
        replace: Allow overwriting existing files.
        elsewhere: How the user can choose a different place, for the error.

    Raises:
        UsageError: A target is an input (also by a link), a repeated target, a device, a pipe or a folder; or it
            exists and `replace` is off.
    """
    seen = dict[Path, Path]()
    for target in targets:
        resolved = _resolved(target)
        if resolved in seen:
            raise UsageError(f"two results would be written to {target}: {elsewhere}")
        seen[resolved] = target
        for read in inputs:
            if resolved == _resolved(read) or _is_same_file(target, read):
                raise UsageError(f"{target} is also the input: {elsewhere}")
        check_regular(target, elsewhere)
        if target.is_file() and not replace:
            raise UsageError(f"{target} already exists: {elsewhere}, or overwrite it with --replace")


def check_regular(target: Path, elsewhere: str = ELSEWHERE) -> None:
    """Raise UsageError if `target` exists and is not a regular file, without opening it."""
    if target.is_dir():
        raise UsageError(f"{target} is a folder: name a file in it")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is a device or a pipe, not a file: {elsewhere}")


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # circular links
        return path.absolute()


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
