"""What a course consists of: each of its files, in a course of one module that has all kinds of activities."""

from __future__ import annotations

import json
import math
import re
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_claims import page_claims, page_trials
from tcptutor.authoring.texts import all_texts
from tcptutor.authoring.translations import find_problems
from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.base.printable import is_printable
from tcptutor.course import published, read_course
from tcptutor.course.activity import Activity, MarkContext
from tcptutor.course.outline import pages
from tcptutor.course.page_record import PageRecord
from tcptutor.course.quantities import expression
from tcptutor.course.step import Step
from tests.course.translated import write_translation
from tests.fuzz.reader import Reader

_MODULE = "03-parallel-streams"
_LARGE = 1 << 20
"""Bytes; no file of a course may have so many."""
_PROSE = "_prose"
_NAMED = re.compile(rb"[a-z0-9-]{3,}")
"""What may be the name of an experiment."""
_OWN_NAME = re.compile(r'^((?:name|experiment) = )"([a-z0-9-]+)"$', re.MULTILINE)


def _pages() -> Sequence[bytes]:
    """Pages of all modules, with the full names of experiments: any of them can stand in any module."""
    found = []
    for path in sorted(places.lessons().glob("*/[0-9][0-9]-*.md")):
        module = path.parent.name[3:]
        found.append(_OWN_NAME.sub(rf'\1"{module}/\2"', path.read_text(encoding="utf-8")).encode())
    return found


def _with_json(seeds: Callable[[], Sequence[bytes]]) -> Callable[[], Sequence[bytes]]:
    """The files, and each as a JSON document, of which the fuzzer changes single values. A page's prose is a key."""

    def both() -> Sequence[bytes]:
        files = seeds()
        documents = []
        for data in files:
            text = data.decode()
            front, prose = text.split("\n+++\n", 1) if text.startswith("+++\n") else (text, None)
            document = tomllib.loads(front.removeprefix("+++\n"))
            documents.append(json.dumps(document if prose is None else {_PROSE: prose, **document}).encode())
        return [*files, *documents]

    return both


def _as_toml(data: bytes) -> bytes:
    """What a JSON document says, as the file of a course; other data, and what is too large for one, as they are."""
    if len(data) > _LARGE:
        return data
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data
    if not isinstance(document, dict):
        return data
    prose = document.pop(_PROSE, None)
    lines = [f"{json.dumps(key)} = {_toml(value)}" for key, value in document.items() if value is not None]
    if prose is not None:
        lines = ["+++", *lines, "+++", str(prose)]
    return "\n".join(lines).encode(errors="surrogatepass")


def _toml(value: object) -> str:
    match value:
        case dict():
            inside = ", ".join(
                f"{json.dumps(key)} = {_toml(each)}" for key, each in value.items() if each is not None
            )
            return f"{{{inside}}}"
        case list():
            return f"[{', '.join(_toml(each) for each in value if each is not None)}]"
        case float() if not math.isfinite(value):
            return str(value)
        case int() if abs(value) > 10**400:
            return "9" * 5000
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case _:
            return json.dumps(value)


def _course(folder: Path, data: bytes) -> Path:
    """A course of one module with two pages; it has the experiments that these name, and those that `data` does."""
    root, whole = folder / "lessons", places.lessons()
    own = root / _MODULE
    (own / "experiments").mkdir(parents=True)
    pages = sorted((whole / _MODULE).glob("*.md"))[:2]
    for path in [whole / _MODULE / "module.toml", *pages]:
        shutil.copy(path, own)
    named = set(_NAMED.findall(b"".join([data, *(page.read_bytes() for page in pages)])))
    for module, name in _experiment_files():
        if name in named:
            (root / module / "experiments").mkdir(parents=True, exist_ok=True)
            file = Path(module, "experiments", f"{name.decode()}.toml")
            shutil.copy(whole / file, root / file)
    (root / "course.toml").write_text(
        'title = "A course"\nmodules = ["parallel-streams"]\nformat_version = 1\n'
    )
    shutil.copy(whole / "glossary.toml", root)
    return root


@cache
def _experiment_files() -> Sequence[tuple[str, bytes]]:
    """The folder of the module, and the name, of each experiment of all modules."""
    files = sorted(places.lessons().glob("[0-9][0-9]-*/experiments/*.toml"))
    return [(file.parents[1].name, file.stem.encode()) for file in files]


def _in_course(place: str) -> Callable[[Path], None]:
    """Reads a course in which that file is another one."""

    def read(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            data = _as_toml(path.read_bytes())
            root = _course(Path(folder), data)
            (root / place).write_bytes(data)
            course, problems = read_course(root)
            told = [*map(str, problems), *lint(root)]
            assert all(is_printable(line) for line in told), "a line of lint is not printable"
            for module in course.modules:
                for text in (module.title, *module.objectives, *module.sources, *module.extra_experiments):
                    assert is_printable(text, lines=True), "a text of a module is not printable"
                for step in module.steps:
                    _do(step)
            chosen = pages(root, "")
            for claim in [*page_claims(root, chosen), *page_trials(root, chosen)]:
                assert is_printable(claim.text, lines=True), "a claim is not printable"

    return read


_TRANSLATED = f"{_MODULE}/01-what-a-stream-is.md"


def _translations() -> Sequence[bytes]:
    """A page with its words as a translation has them, and each with a word more."""
    with tempfile.TemporaryDirectory() as folder:
        root = _course(Path(folder), b"")
        write_translation(root, "de", _TRANSLATED, figures=True)
        write_translation(root, "fr", _TRANSLATED, change=str)
        return [(root / language / _TRANSLATED).read_bytes() for language in ("de", "fr")]


def _translated(path: Path) -> None:
    """A course with that translation of a page: its ids, choices and right answers stay those of the page."""
    with tempfile.TemporaryDirectory() as folder:
        data = _as_toml(path.read_bytes())
        root = _course(Path(folder), data)
        (root / "de" / _MODULE).mkdir(parents=True)
        (root / "de" / _TRANSLATED).write_bytes(data)
        found = find_problems(root)
        assert all(is_printable(line) for line in (*found.problems, *found.changed))
        original, shown = (read_course(root, language)[0].modules[0].steps[0] for language in ("", "de"))
        _do(shown)
        for before, now in zip(original.activities, shown.activities, strict=True):
            assert (before.id, before.entry_ids) == (now.id, now.entry_ids)
            assert before.reference() == now.reference()


def _do(step: Step) -> None:
    """What the app does with a page before there is a run."""
    assert all(is_printable(text, lines=True) for text in all_texts(step)), (
        "a text of a page is not printable"
    )
    step.is_done(PageRecord())
    for activity in step.activities:
        _answer(activity, step)
        try:
            posed = activity.with_numbers(activity.draw_numbers("a seed"))
        except UsageError:
            continue
        _answer(posed, step)


def _answer(activity: Activity, step: Step) -> None:
    right, empty = activity.reference()
    for given in (right, empty, "1 Mbit/s", "1e308", ("gone",), activity.entry_ids[:1]):
        if given is None:
            continue
        try:
            activity.doubt(given, step.predicted_experiment(activity))
            activity.mark(given, MarkContext())
        except UsageError:
            continue


def _expression(path: Path) -> None:
    text = path.read_bytes().decode(errors="replace")
    expression(text).value({"window": 65536.0, "rtt": 0.02, "rate": 1e8, "loss": 0.001})


_EXPRESSIONS = b"""window * 8 / rtt
sqrt(1.5 / loss) * 1460 * 8 / rtt
min(rate, window * 8 / rtt)
ceil(log2(rate * rtt / 8 / 1460))
max(-rate, +window) ** 2 / (1 + rtt)
floor(1e3 ** 2.5)"""


def _experiments() -> Sequence[bytes]:
    return [path.read_bytes() for path in sorted((places.lessons() / _MODULE / "experiments").glob("*.toml"))]


def _one(*parts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [places.lessons().joinpath(*parts).read_bytes()]


def _published(path: Path) -> None:
    """A document of published figures, with what a page asks of it."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder, "document.toml")
        there.write_bytes(_as_toml(path.read_bytes()))
        found, wrong = published.read_documents(Path(folder))
        assert all(is_printable(str(error)) for error in wrong), "a line is not printable"
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(published, "_read", lambda: (found, wrong))
            published.documents()
            for source in ("document", "document: a result", "document: result", *_names(found)):
                published.unresolved(source)
                for x, y in (("x", "y"), ("streams", "throughput_bps"), ("result", "citation")):
                    curve = published.PublishedCurve(source=source, x=x, y=y, x_scale=1e3)
                    list(curve.problems())
                    curve.points()
                    assert is_printable(curve.called, lines=True)


def _names(found: dict[str, dict[str, Any]]) -> Sequence[str]:
    return [f"document: {key}" for table in found.values() for key in table]


def _documents() -> Sequence[bytes]:
    return [path.read_bytes() for path in sorted((places.assets() / "published").glob("*.toml"))]


READERS: tuple[Reader, ...] = (
    Reader("page", ".md", _with_json(_pages), _in_course(f"{_MODULE}/03-a-page.md")),
    Reader(
        "experiment", ".toml", _with_json(_experiments), _in_course(f"{_MODULE}/experiments/random-loss.toml")
    ),
    Reader("module", ".toml", _with_json(_one(_MODULE, "module.toml")), _in_course(f"{_MODULE}/module.toml")),
    Reader("course", ".toml", _with_json(_one("course.toml")), _in_course("course.toml")),
    Reader("glossary", ".toml", _with_json(_one("glossary.toml")), _in_course("glossary.toml")),
    Reader("translation", ".md", _with_json(_translations), _translated),
    Reader("published", ".toml", _with_json(_documents), _published),
    Reader("expression", ".txt", _EXPRESSIONS.splitlines, _expression),
)
