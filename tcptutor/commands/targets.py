"""Where a command may write what the user asked for: it never destroys what it reads, nor what is there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.base.errors import UsageError

ELSEWHERE = "give another place with -o"


def check_targets(
    targets: Sequence[Path], inputs: Sequence[Path], *, replace: bool, elsewhere: str = ELSEWHERE
) -> None:
    """Look at all places to be written before the first one is.

    Raises UsageError, one line, for a target that is one of `inputs` (also by a link), that another one is as well,
    that is a device, a pipe or a folder, and, unless `replace`, that is there already. `elsewhere` says how the user
    gives another place.
    """
    seen = dict[Path, Path]()
    for target in targets:
        place = _place(target)
        if place in seen:
            raise UsageError(f"two results would be written to {target}: {elsewhere}")
        seen[place] = target
        for read in inputs:
            if place == _place(read) or _same(target, read):
                raise UsageError(f"{target} is what is read: {elsewhere}")
        check_regular(target, elsewhere)
        if target.is_file() and not replace:
            raise UsageError(f"{target} is there already: {elsewhere}, or --replace to write over it")


def check_regular(target: Path, elsewhere: str = ELSEWHERE) -> None:
    """Raise UsageError, one line, for a place with something that is no file, and without opening it."""
    if target.is_dir():
        raise UsageError(f"{target} is a folder: give the name of a file in it")
    if target.exists() and not target.is_file():
        raise UsageError(f"{target} is a device or a pipe, not a file: {elsewhere}")


def _place(path: Path) -> Path:
    """Where it is, through all links."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links that go round in a circle
        return path.absolute()


def _same(one: Path, other: Path) -> bool:
    """Whether both are one file, also under two names."""
    try:
        return one.samefile(other)
    except OSError:
        return False
