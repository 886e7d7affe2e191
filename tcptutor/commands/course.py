"""`tcptutor new-course` begins a course; `tcptutor course` packs, lists and updates courses."""

from __future__ import annotations

import re
import shlex
import shutil
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor.base import places, sizes
from tcptutor.base.columns import table
from tcptutor.base.errors import TutorError, UsageError, quoted, refused
from tcptutor.commands.output import count, print_json, print_lines, remark, toned, warn
from tcptutor.commands.targets import check_targets
from tcptutor.course.checkout import fetch, find_checkout, parse_address
from tcptutor.course.known_courses import KnownCourse, known_courses
from tcptutor.course.lesson_file import toml_value
from tcptutor.course.marks import MarkScheme
from tcptutor.course.outline import Course, OpenedCourse
from tcptutor.course.pack import SUFFIX, write_pack
from tcptutor.course.sources import choose, course_folder
from tcptutor.journal import opened_journal


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
    rows = [
        ("  edit it", f"tcptutor preview {there}", "shows a page again each time you save it"),
        ("  check it", f"tcptutor lint {there}", "with --run also what it says about runs"),
        ("  open it", f"tcptutor --course {there}", ""),
        ("  hand it out", f"tcptutor course pack {there}", ""),
    ]
    print_lines(
        [
            f"wrote {folder}: {name}, with an example of every kind of page: delete those you do not need",
            *table(rows, indent=0),
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
    if OpenedCourse(course_folder(folder)).course.marks != MarkScheme():
        remark("as the course has [marks], they first enrol with the line that `tcptutor course-key` prints")
    return 0


def announce_fetch(given: str) -> None:
    """Say that a repository is fetched, which takes seconds, unless it was fetched before."""
    address = None if Path(given).expanduser().exists() else parse_address(given)
    if address and find_checkout(address) is None:
        remark(f"fetching {address} ...")


class _ListedCourse(NamedTuple):
    id: str
    title: str
    version: str
    given: str
    """Empty for the shipped course."""
    opened_at: str
    done: int
    """Pages that the student has finished."""
    pages: int
    problem: str
    """Reason why the course cannot be opened; empty if it can."""


def list_courses(as_json: bool) -> int:
    """List the shipped course and the student's courses, and return the exit code."""
    current = places.chosen_course()
    listed = list(_listed())
    in_use = current.id if current else places.SHIPPED_ID
    if as_json:
        print_json({"current": in_use, "courses": [each._asdict() for each in listed]})
        return 0
    rows = [
        (
            "*" if each.id == in_use else " ",
            each.id,
            f"{each.title}, version {each.version}" if each.version else each.title,
            f"{each.done} of {count(each.pages, 'page')}" if not each.problem else "",
            each.opened_at.partition("T")[0],
            _shortened(each.given) or "the course of tcptutor",
        )
        for each in listed
    ]
    print_lines(table([("", "id", "title", "finished", "opened", "from"), *rows], indent=0))
    for each in listed:
        if each.problem:
            warn(f"{each.id}: {each.problem}")
    others = [each.id for each in listed if each.id != in_use and not each.problem]
    advice = (
        f"open another: tcptutor --course {others[0]}" if others else "open another: tcptutor --course FOLDER"
    )
    print_lines(["", toned(advice, "faint")])
    return 0


def _shortened(given: str) -> str:
    """Format a path or an address for display: without a password, below ~ where possible."""
    if (path := Path(given)).is_absolute() and path.is_relative_to(Path.home()):
        return f"~/{path.relative_to(Path.home())}"
    address = parse_address(given) if given and not path.exists() else None
    return str(address) if address else given


def _listed() -> Iterator[_ListedCourse]:
    before = places.chosen_course()
    known: dict[str, KnownCourse | None] = {places.SHIPPED_ID: None}
    known |= {each.id: each for each in known_courses()}
    if before is not None and before.id not in known:
        known[before.id] = KnownCourse(id=before.id, title="", given=before.given, opened_at="")
    try:
        for id, note in known.items():
            places.choose_course(None)
            title, version, problem = (note.title, note.version, "") if note else ("", "", "")
            done = total = 0
            try:
                places.choose_course(choose(note.given) if note else None)
                course = OpenedCourse().course
                title, version = course.title, course.version
                done, total = _finished(course)
            except TutorError as error:
                problem = str(error)
            yield _ListedCourse(
                id,
                title,
                version,
                note.given if note else "",
                note.opened_at if note else "",
                done,
                total,
                problem,
            )
    finally:
        places.choose_course(before)


def _finished(course: Course) -> tuple[int, int]:
    """Return the finished pages, and all pages, of the course in use."""
    if not (places.state() / "journal.db").exists():
        return 0, sum(len(module.step_ids) for module in course.modules)
    with opened_journal(warn) as journal:
        progress = journal.progress(course).values()
        return sum(each.done for each in progress), sum(each.total for each in progress)


def update_course(given: str) -> int:
    """Fetch a course again from its git repository, report the change, and return the exit code.

    Raises:
        UsageError: The course did not come from a repository.
        TutorError: The course cannot be fetched; the stored course is unchanged.
    """
    source = {each.id: each.given for each in known_courses()}.get(given, given)
    address = parse_address(source)
    if address is None:
        raise UsageError(f"{quoted(given)} is no course from a git repository: give its id or its URL")
    before = find_checkout(address)
    after = fetch(address)
    course = OpenedCourse(course_folder(source)).course
    named = f"{course.id}: {course.title}{f', version {course.version}' if course.version else ''}"
    if before is None:
        print_lines([f"{named}, fetched at {after.short}"])
    elif before.commit == after.commit:
        print_lines([f"{named}, is the newest already, {after.short}"])
    else:
        print_lines([f"{named}, updated from {before.short} to {after.short}"])
    return 0
