"""`tcptutor course pack`: write a course to one file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tcptutor.base import sizes
from tcptutor.base.errors import UsageError, quoted
from tcptutor.commands.output import count, print_json, print_lines
from tcptutor.commands.targets import check_targets
from tcptutor.course.outline import OpenedCourse
from tcptutor.course.pack import SUFFIX, course_folder, write_pack


def pack_course(folder: Path, output: Path | None, replace: bool, as_json: bool) -> int:
    """Write the pack, report it and return the exit code. Raises TutorError."""
    path = output or Path(OpenedCourse(course_folder(folder)).course.id + SUFFIX)
    if path.suffix != SUFFIX:
        raise UsageError(f"{quoted(path.name)} is not a course's name: use one that ends in {SUFFIX}")
    check_targets([path], [], replace=replace)
    packed = write_pack(course_folder(folder), path)
    size = path.stat().st_size
    if as_json:
        print_json({"file": str(path), "bytes": size, **msgspec.to_builtins(packed)})
        return 0
    version = f", version {packed.version}" if packed.version else ""
    print_lines(
        [
            f"wrote {path}, {sizes.decimal(size)}: {packed.title}{version}, {count(len(packed.files), 'file')}",
            f"your students type: tcptutor --course {path.name}",
        ]
    )
    return 0
