"""The roster of a course: a CSV file as the course's system exports it, compared with the hand-ins.

Its columns are found by the headings of Moodle, Canvas, Gradescope and plain tables:

id        ID number, SIS User ID, SIS Login ID, SID, Student ID, Username, Login, ID, Student
email     Email address, Email, E-mail, Mail
section   Section, Sections, Group, Groups, Tutorial, Class

A student is found by an id or an email. Differences in case and invisible characters are ignored and reported.
"""

from __future__ import annotations

import csv
import io
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tcptutor.base.errors import ContentError, UsageError, quoted, unknown
from tcptutor.base.files import read_plain
from tcptutor.base.printable import escaped
from tcptutor.grading.decisions import fold_id
from tcptutor.grading.grade import GradedFile

_MOST_BYTES = 16 << 20
_MOST_ROWS = 100_000
_IDS = ("idnumber", "sisuserid", "sisloginid", "sid", "studentid", "studentnumber", "username", "login")
_ONLY_IDS = ("id", "student", "userid", "netid")
"""Fallback headings of ids: in a Canvas table, ID is Canvas' own number and Student the name."""
_EMAILS = ("emailaddress", "email", "mail")
_SECTIONS = ("section", "sections", "group", "groups", "tutorial", "class")
_ROLE = "role"
_NO_STUDENTS = ("points possible", "student, test")
"""First cells of rows of Canvas that are no students."""
_FEW = 3
"""Most unknown students to name individually, even if they are most of the class."""
_SHORT = 6
"""Length up to which similar ids differ by a single slip; longer ids may differ by two."""


class RosterStudent(NamedTuple):
    """A row of the roster."""

    line: int
    cells: tuple[str, ...]
    ids: tuple[str, ...]
    """Ids and emails; empty for a row that is no student."""
    sections: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The first id."""
        return self.ids[0] if self.ids else ""

    @property
    def label(self) -> str:
        """The first id in messages, with its invisible characters visible."""
        return _shown(self.name)


class Roster(NamedTuple):
    """A roster."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[RosterStudent, ...]
    """All rows, including rows that are not students."""
    problems: tuple[str, ...] = ()
    """A line per row that cannot be used."""
    id_columns: tuple[str, ...] = ()
    """Headings of ids and emails."""

    @property
    def students(self) -> Iterator[RosterStudent]:
        return (row for row in self.rows if row.ids)

    def section(self, name: str) -> Roster:
        """Return the roster limited to a section. Raises UsageError for an unknown section."""
        known = dict.fromkeys(each for row in self.students for each in row.sections)
        if not known:
            raise UsageError(f"{self.file} has no column of sections: omit --section")
        if name not in known:
            raise UsageError(unknown("section", name, known))
        return self._replace(rows=tuple(row for row in self.rows if not row.ids or name in row.sections))


class RollCall(NamedTuple):
    """A roster compared with the hand-ins of a class."""

    roster: Roster
    found: Mapping[int, GradedFile]
    """The hand-in that counts, by line of the roster."""
    unknown: tuple[GradedFile, ...]
    """Hand-ins of students who are not on the roster."""
    lines: tuple[str, ...]
    """Unknown students and slips in ids, a line each."""

    @property
    def missing(self) -> tuple[RosterStudent, ...]:
        """Return students without a hand-in and without a decision on a module or the course."""
        there = {line for line, each in self.found.items() if each.file or _is_decided(each)}
        return tuple(row for row in self.roster.students if row.line not in there)


def read_roster(path: Path, column: str = "") -> Roster:
    """Read a roster.

    Args:
        path: The CSV file.
        column: Heading of the only column of ids; empty to find the columns by their usual headings.

    Raises:
        ContentError: The file cannot be read, or has no column of ids.
        UsageError: `column` is not a heading.
    """
    rows = _read_rows(path)
    if not rows:
        raise ContentError(f"{path} is empty: export the roster as CSV, with its headings")
    (_, head), *body = rows
    plain = [re.sub(r"[\W_]", "", heading.casefold()) for heading in head]
    if column:
        if column not in head:
            raise UsageError(unknown("column", column, head))
        ids = [head.index(column)]
    else:
        ids = _columns(plain, _IDS) or _columns(plain, _ONLY_IDS)[:1]
        ids += _columns(plain, _EMAILS)
    if not ids:
        headings = ", ".join(map(quoted, head[:12]))
        raise ContentError(
            f"{path} has no column of ids or emails among {headings}: name it with --roster-column"
        )
    roles, sections = _columns(plain, (_ROLE,)), _columns(plain, _SECTIONS)
    read: list[RosterStudent] = []
    problems: list[str] = []
    for line, cells in body:
        full = (*cells, *("" for _ in range(len(head) - len(cells))))
        if full[0].strip().casefold() in _NO_STUDENTS or any(
            full[at].strip().casefold() not in ("", "student") for at in roles
        ):
            read.append(RosterStudent(line, full, ()))
            continue
        named = tuple(dict.fromkeys(filter(None, (full[at].strip() for at in ids))))
        if not named:
            problems.append(f"{path}: line {line} has no id: nobody's hand-in belongs to it")
        parts = (part for at in sections for part in (full[at], *re.split(r"[,;]| and ", full[at])))
        read.append(
            RosterStudent(line, full, named, tuple(dict.fromkeys(filter(None, map(str.strip, parts)))))
        )
    return Roster(
        str(path),
        tuple(head),
        tuple(read),
        (*problems, *_repeated_ids(path, read)),
        tuple(head[at] for at in ids),
    )


def call_roll(roster: Roster, graded: Sequence[GradedFile], others: Roster | None = None) -> RollCall:
    """Find the hand-in of each student on the roster.

    Args:
        roster: The students.
        graded: The hand-ins of the class.
        others: The complete roster if `roster` is a section, so that students of other sections are known.
    """
    whole = others or roster
    exact, alike = _by_id(whole, str), _by_id(whole, fold_id)
    counted = [(each, each.grade) for each in graded if each.grade is not None and not each.superseded_by]
    # Whoever has the id as it is on the roster comes first, and of two ids of a student the better hand-in.
    counted.sort(key=lambda each: (each[1].student not in exact, -each[1].total))
    of_row: dict[RosterStudent, GradedFile] = {}
    strangers: list[tuple[GradedFile, str]] = []
    lines: list[str] = []
    for each, grade in counted:
        row = exact.get(grade.student) or alike.get(fold_id(grade.student))
        if row is None or (row in of_row and grade.student not in exact):
            strangers.append((each, grade.student))
        elif row in of_row:
            lines.append(
                f"{each.file} does not count: {of_row[row].file} is of the same student, {row.label}"
            )
        else:
            of_row[row] = each
            if grade.student not in exact:
                lines.append(f"{_shown(grade.student)} is taken for {row.label} of the roster")
    absent = [row for row in whole.students if row not in of_row]
    if len(strangers) > max(_FEW, len(counted) / 2):
        lines.append(
            f"{len(strangers)} of {len(counted)} hand-ins are of nobody on {whole.file}, which has"
            f" {' and '.join(whole.id_columns)}: name the column that students enrolled by with --roster-column"
        )
    else:
        lines += [_stranger_line(each, student, absent, alike) for each, student in strangers]
    found = {row.line: of_row[row] for row in roster.students if row in of_row}
    return RollCall(roster, found, tuple(each for each, _ in strangers), tuple(lines))


def missing_line(roll: RollCall, most: int = 10) -> str:
    """Return a line on the students without a hand-in; empty if every student has handed in."""
    missing = [row.label for row in roll.missing]
    if not missing:
        return ""
    more = f" and {len(missing) - most} more" if len(missing) > most else ""
    of = sum(1 for _ in roll.roster.students)
    return f"no hand-in of {len(missing)} of {of} students: {', '.join(missing[:most])}{more}"


def _read_rows(path: Path) -> list[tuple[int, list[str]]]:
    try:
        content = read_plain(path, _MOST_BYTES)
    except OSError as error:
        raise ContentError(f"cannot read {path}: {error.strerror or error}") from None
    text = _decoded(content)
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[tuple[int, list[str]]] = []
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells):
                rows.append((reader.line_num, cells))
            if len(rows) > _MOST_ROWS:
                raise ContentError(f"{path} has more than {_MOST_ROWS} rows: is it a roster?")
    except csv.Error as error:
        raise ContentError(f"{path} is not a CSV file: line {reader.line_num}: {error}") from None
    return rows


def _decoded(content: bytes) -> str:
    """Decode a table of any system: UTF-8, UTF-16 as some spreadsheets write it, or Windows' western letters."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def _columns(headings: Sequence[str], names: Iterable[str]) -> list[int]:
    return [headings.index(name) for name in names if name in headings]


def _repeated_ids(path: Path, rows: Iterable[RosterStudent]) -> Iterator[str]:
    row_of: dict[str, RosterStudent] = {}
    for row in rows:
        for id in row.ids:
            first = row_of.setdefault(id, row)
            # A student of two sections has two rows.
            if first is not row and first.ids != row.ids:
                yield f"{path}: {_shown(id)} is on line {first.line} and on line {row.line}: the first counts"


def _is_decided(graded: GradedFile) -> bool:
    decisions = graded.grade.decisions if graded.grade else ()
    return any(each.kind in ("marks", "excuse") and "/" not in each.page for each in decisions)


def _by_id(roster: Roster, form: Callable[[str], str]) -> dict[str, RosterStudent]:
    found: dict[str, RosterStudent] = {}
    for row in roster.students:
        for id in row.ids:
            found.setdefault(form(id), row)
    return found


def _stranger_line(
    each: GradedFile, student: str, absent: Sequence[RosterStudent], alike: Mapping[str, RosterStudent]
) -> str:
    if not student:
        return f"{each.file} is of a student who never enrolled: nobody on the roster has it"
    unknown = f"{_shown(student)} is not on the roster"
    if similar := next((id for row in absent for id in row.ids if _is_similar(student, id)), None):
        return f"{unknown}; {_shown(similar)} is, and has no hand-in{_if_same(student, similar)}"
    # Numbers that are alike are often of two students; mail addresses rarely.
    mails = (
        id
        for row in dict.fromkeys(alike.values())
        for id in row.ids
        if "@" in id and "@" in student and _is_similar(student, id)
    )
    twin = alike.get(fold_id(student))
    if own := twin.name if twin else next(mails, None):
        return f"{unknown}; {_shown(own)} is, and has a hand-in of its own{_if_same(student, own)}"
    return f"{unknown} ({each.file})"


def _if_same(student: str, same_as: str) -> str:
    """Return the end of a line about two ids: the command that declares them the same student."""
    typed, right = (shlex.quote(_visible(each)) for each in (student, same_as))
    ids = f"{typed} --same-as {right}"
    return f'. If they are the same: tcptutor decide {ids} --reason "Typing error" --by INITIALS'


def _is_similar(one: str, other: str) -> bool:
    """Return whether two ids differ by a slip, or are the same mail name with and without a domain."""
    one, other = fold_id(one), fold_id(other)
    if one.partition("@")[0] == other.partition("@")[0] and "@" in one + other:
        return True
    slips = 1 if min(sum(map(str.isalpha, each)) for each in (one, other)) <= _SHORT else 2
    # Each slip changes two letters at most, so that few pairs are worth the comparison.
    return len(set(one) ^ set(other)) <= 2 * slips and _distance(one, other, slips) <= slips


def _distance(one: str, other: str, most: int) -> int:
    """Return the number of letters inserted, left out, replaced or swapped with the next; above `most` any number."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        row = [at]
        for to, letter_to in enumerate(other, 1):
            cost = min(last[to] + 1, row[-1] + 1, last[to - 1] + (letter != letter_to))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == letter_to:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]


def _visible(id: str) -> str:
    """Return an id without its invisible characters; decisions find it by that too."""
    return "".join(each for each in escaped(id) if unicodedata.category(each) != "Cf")


def _shown(id: str) -> str:
    """Return an id with its invisible characters visible."""
    return "".join(
        f"\\u{ord(each):04x}" if unicodedata.category(each) == "Cf" else each for each in escaped(id)
    )
