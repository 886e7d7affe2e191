"""`tcptutor new-course` begins a course, `tcptutor course pack` writes one to a file."""

from __future__ import annotations

import re
import shlex
import shutil
import unicodedata
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tcptutor.base import places, sizes
from tcptutor.base.errors import TutorError, UsageError, quoted, refused
from tcptutor.commands.output import count, print_json, print_lines
from tcptutor.commands.targets import check_targets
from tcptutor.course.lesson_file import toml_value
from tcptutor.course.outline import OpenedCourse
from tcptutor.course.pack import SUFFIX, course_folder, write_pack


def begin_course(folder: Path, title: str | None) -> int:
    """Write the example course to a new folder and return the exit code. Raises UsageError, or TutorError."""
    name = " ".join((title or folder.resolve().name).split())
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    values = {"id": re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "my-course", "title": name}
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: name a new folder")
    try:
        shutil.copytree(places.assets() / "example-course", folder, dirs_exist_ok=True)
        file = folder / "course.toml"
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
        file.write_text("".join(_with_value(line, values) for line in lines), encoding="utf-8")
    except OSError as error:
        raise TutorError(f"cannot write {folder}: {refused(error)}") from None
    there = shlex.quote(str(folder))
    print_lines(
        [
            f"wrote {folder}: {name}, with an example of every kind of page",
            f"check it: tcptutor lint {there}        with --run also what it says about runs",
            f"open it:  tcptutor --course {there}",
            f"hand it out: tcptutor course pack {there}",
        ]
    )
    return 0


def _with_value(line: str, values: Mapping[str, str]) -> str:
    key, _, rest = line.partition(" = ")
    if key not in values:
        return line
    comment = re.search(r" +#.*", rest)
    return f"{key} = {toml_value(values[key])}{comment[0] if comment else ''}\n"


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
