"""Reading of a course file; every problem is a one-line ContentError with file, key and reason.

A file is bounded in size and nesting, and consists of printable texts, so that a course from an unknown author is
cheap to read and safe to show.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import tomli

from tcptutor.base import decoding
from tcptutor.base.errors import ContentError, near
from tcptutor.base.files import read_plain
from tcptutor.base.printable import escaped, find_control
from tcptutor.course.toml_hints import toml_hint

ORIGINAL_LANGUAGE = "en"
"""Language of the lessons of a course that does not name it."""
_FENCE = "+++"
MOST_BYTES = 256 << 10
DEEPEST = 12
"""Nesting depth; pages use at most seven."""
_LONG_KEY = re.compile(rf"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}""")
"""Dotted key that nests too deep: the parser's time grows with the square of its parts."""
_ONE_LINE = frozenset(
    {
        "title",
        "subtitle",
        "teaser",
        "idea",
        "formula",
        "id",
        "word",
        "abbreviation",
        "synonyms",
        "name",
        "page",
        "recall",
        "compare_with",
    }
)
"""Keys of single-line texts."""
_MANY = 8
"""Number of values above which an error names only similar values."""
_LONGEST_REASON = 400
"""Most characters of a reason, which may quote the file."""
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_ENTRY = re.compile(rf"([0-9][0-9])-({_SLUG.pattern})")
T = TypeVar("T")


def module_folders(root: Path) -> dict[str, Path]:
    """Return the module folders by id, in numerical order; empty if `root` is missing."""
    folders = sorted(path for path in root.glob("[0-9][0-9]-*") if path.is_dir())
    return {entry[1]: path for path in folders if (entry := numbered(path.name))}


PRETEST_FILE = "00-pretest.md"
"""File of a module's pre-test, which does not count as a page."""


def step_files(folder: Path) -> list[Path]:
    """Return the page files of a module, in numerical order."""
    return sorted(path for path in folder.glob("[0-9][0-9]-*.md") if path.name != PRETEST_FILE)


def files_by_step(folder: Path) -> dict[str, Path]:
    """Return the page files of a module by page id; of two with the same id, the first."""
    return {path.stem[3:]: path for path in reversed(step_files(folder))}


def numbered(name: str) -> tuple[int, str] | None:
    """Return `(3, "parallel-streams")` for "03-parallel-streams"; None for other names."""
    match = _ENTRY.fullmatch(name)
    return (int(match[1]), match[2]) if match else None


def toml_value(value: object) -> str:
    """Format a TOML value on a single line: JSON's escapes, with DEL escaped as well."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def is_slug(name: str) -> bool:
    """Return True if `name` consists of lower-case words and digits joined by hyphens."""
    return _SLUG.fullmatch(name) is not None


def qualified_name(module: str, name: str) -> str:
    """Return the full name of the experiment a file of `module` calls `name`; empty stays empty."""
    return name if not name or "/" in name else f"{module}/{name}"


def shown_path(path: Path, root: Path) -> str:
    """Return the path of a course's file for messages, from the folder that `root` was named in."""
    relative = path.relative_to(root).as_posix()
    return f"{root.name}/{relative}" if root.name else relative


@dataclass(frozen=True)
class LessonFile:
    """File of the course, with its name in messages."""

    path: Path
    root: Path
    """Folder of all lessons."""

    def problem(self, reason: str, key: str = "") -> ContentError:
        """Return the error to raise, whose message is a printable line of bounded length."""
        name = shown_path(self.path, self.root)
        reason = " ".join(reason.split())
        if len(reason) > _LONGEST_REASON:
            reason = f"{reason[: _LONGEST_REASON - 4]} ..."
        return ContentError(
            escaped(": ".join(part for part in (name, key[:_LONGEST_REASON], reason) if part))
        )

    def text(self) -> str:
        """Return the text with LF line ends.

        Raises:
            ContentError: The file is missing, too large, or not UTF-8.
        """
        try:
            return read_plain(self.path, MOST_BYTES).decode("utf-8").replace("\r\n", "\n")
        except FileNotFoundError:
            raise self.problem("the file is missing") from None
        except OSError as error:
            raise self.problem(f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError as error:
            raise self.problem(f"cannot be read: byte {error.start + 1} is not UTF-8") from None

    def split(self) -> tuple[str, str]:
        """Return the front matter and the Markdown of a page; the line numbers of the front matter are the file's.

        Raises:
            ContentError: The file cannot be read, or has no front matter.
        """
        lines = self.text().split("\n")
        if lines[0].rstrip() != _FENCE:
            raise self.problem(f"the first line must be {_FENCE}, which starts the front matter")
        end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _FENCE), None)
        if end is None:
            raise self.problem(f"the second {_FENCE} line is missing, which ends the front matter")
        prose = "\n".join(lines[end + 1 :]).strip()
        self.check_text(prose, "prose")
        # An empty line in place of the fence keeps the parser's line numbers equal to the file's.
        return "\n".join(["", *lines[1:end]]), prose

    def read(self, kind: type[T]) -> T:
        """Parse the TOML file as `kind`.

        Raises:
            ContentError: The file cannot be read, or does not match `kind`.
        """
        return self.parse_text(self.text(), kind)

    def parse_text(self, text: str, kind: type[T]) -> T:
        """Parse TOML `text` from this file as `kind`.

        Raises:
            ContentError: The text is not TOML, or does not match `kind`.
        """
        return self.convert_table(self.tables(text), kind)

    def tables(self, text: str) -> dict[str, Any]:
        """Parse TOML `text` from this file.

        Raises:
            ContentError: The text is not TOML, nests too deep, or has a text or number that cannot be shown.
        """
        if _LONG_KEY.search(text):
            raise self.problem(f"a key has more than {DEEPEST} parts: simplify it")
        try:
            table = tomli.loads(text)
        except RecursionError:
            raise self.problem(
                f"lists or tables are nested more than {DEEPEST} deep: simplify them"
            ) from None
        except (ValueError, OverflowError) as error:  # also for an integer of 5,000 digits
            hint = toml_hint(str(error))
            raise self.problem(f"not valid TOML: {error}{hint and f': {hint}'}") from None
        self._check(table, "", 0)
        return table

    def _check(self, value: object, key: str, depth: int) -> None:
        if isinstance(value, dict | list) and depth >= DEEPEST:
            raise self.problem(f"is nested more than {DEEPEST} deep: simplify it", key)
        match value:
            case dict():
                for name, each in value.items():
                    self.check_text(name, f"{key}.(a key)".lstrip("."))
                    self._check(each, f"{key}.{name}".lstrip("."), depth + 1)
            case list():
                for number, each in enumerate(value, 1):
                    self._check(each, f"{key}[{number}]" if len(value) > 1 else key, depth + 1)
            case str():
                self.check_text(value, key)
                if "\n" in value and key.rpartition(".")[2].partition("[")[0] in _ONE_LINE:
                    raise self.problem("has several lines: use one line", key)
            case float() if not math.isfinite(value):
                raise self.problem("is not a number", key)

    def check_text(self, text: str, key: str) -> None:
        """Check that a text can be shown on a terminal.

        Raises:
            ContentError: It contains control characters.
        """
        if text.isascii() and text.isprintable():  # most texts: faster than a search
            return
        if found := find_control(text, lines=True):
            line = text.count("\n", 0, found.start()) + 1
            where = f"line {line}, " if "\n" in text else ""
            column = found.start() - text.rfind("\n", 0, found.start())
            reason = f"{where}character {column} is U+{ord(found[0]):04X}, which is not printable: remove it"
            raise self.problem(reason, key)

    def convert_table(self, table: dict[str, Any], kind: type[T]) -> T:
        """Convert a table from this file to `kind`.

        Raises:
            ContentError: The table does not match `kind`.
        """
        try:
            return decoding.convert(table, kind)
        except msgspec.ValidationError as error:
            raise self.problem(*reversed(_explain(str(error), table, kind))) from None


_MESSAGE = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>[^`]*)`)?", re.DOTALL)
_FIELD = re.compile(r"Object (?P<how>contains unknown|missing required) field `(?P<name>[^`]*)`")
_VALUE = re.compile(r"Invalid (?:enum )?value '(?P<value>.*)'", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+|\.\.\.)\]")
_TYPES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "nothing",
}


def _explain(message: str, table: Any, kind: type) -> tuple[str, str]:
    """Return `(key, reason)` for msgspec's validation `message` about `table`, in an author's words.

    msgspec reports "Object contains unknown field `asks` - at `$.question[0]`"; we report "question.asks" and "is
    not a key here: the keys are prompt, choice, ...".
    """
    match = _MESSAGE.fullmatch(message)
    what, path = (match["what"], match["path"] or "") if match else (message, "")
    key, wanted, found = _walk(path, table, kind)
    if field := _FIELD.fullmatch(what):
        reason = "is missing"
        if field["how"] == "contains unknown":
            keys = tuple(_keys(_struct(wanted, found)))
            similar = near(field["name"], keys)
            reason = f"is not a key here{f' ({similar})' if similar else ''}: the keys are {', '.join(keys)}"
        return f"{key}.{field['name']}".lstrip("."), reason
    if value := _VALUE.fullmatch(what):
        values = tuple(_values(wanted))
        similar = near(value["value"], values) if len(values) > _MANY else ""
        known = f"known here: {similar}" if similar else f"one of {', '.join(values)}"
        return key, f"{value['value']!r} is not {known}"
    plain = re.sub(r"`([^`]*)`", lambda name: _plain(name[1]), what)
    return key, plain.replace("Expected", "must be").replace(", got", ", not")


def _walk(path: str, table: Any, kind: Any) -> tuple[str, Any, Any]:
    """Return the author's key, the expected type and the actual value at `path`.

    Entries of a list are counted from 1. For the tag key, the expected type is the union of kinds.
    """
    key = ""
    for name, index in _STEP.findall(path):
        if name:
            key += f".{name}" if key else name
            struct = _struct(kind, table)
            if struct.__struct_config__.tag_field != name:
                fields = {field.encode_name: field.name for field in msgspec.structs.fields(struct)}
                kind = get_type_hints(struct)[fields[name]]
            table = table.get(name, {}) if isinstance(table, dict) else {}
        elif index == "...":  # a table with the author's own keys: msgspec does not report which
            kind, table = get_args(kind)[1], {}
        else:
            key += f"[{int(index) + 1}]" if len(table) > 1 else ""
            table = table[int(index)] if isinstance(table, list) else {}
    return key, kind, table


def _plain(types: str) -> str:
    return " or ".join(_TYPES.get(name.strip(), name.strip()) for name in types.split("|"))


def _parts(annotation: Any) -> Iterator[Any]:
    """Yield the structs and Literals inside `tuple[X | Y, ...]` or `X | None`."""
    if get_origin(annotation) is Literal or not get_args(annotation):
        yield annotation
        return
    for part in get_args(annotation):
        if part is not type(None) and part is not Ellipsis:
            yield from _parts(part)


def _struct(annotation: Any, table: Any) -> Any:
    structs = [each for each in _parts(annotation) if hasattr(each, "__struct_config__")]
    tag_field = structs[0].__struct_config__.tag_field
    tag = table.get(tag_field) if isinstance(table, dict) else None
    return next((each for each in structs if each.__struct_config__.tag == tag), structs[0])


def _values(annotation: Any) -> Iterator[str]:
    for part in _parts(annotation):
        yield from get_args(part) or (str(part.__struct_config__.tag),)


def _keys(struct: Any) -> Iterator[str]:
    if struct.__struct_config__.tag_field:
        yield struct.__struct_config__.tag_field
    yield from (field.encode_name for field in msgspec.structs.fields(struct))
