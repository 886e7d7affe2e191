"""What somebody else wrote as a course: each file is refused in one line, and the rest of the course is there."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.base.printable import is_printable
from tcptutor.course import read_course
from tcptutor.course.lesson_file import LessonFile
from tcptutor.course.quantities import expression
from tests import patience
from tests.command import here

from .conftest import EXPERIMENT, MODULE, STEP, Edit, module_of

CLIPBOARD = r"\u001b]52;c;c3RvbGVu\u0007"
"""Sets the clipboard of a terminal that is shown it, as TOML writes it."""
FILES = {
    "page": STEP,
    "experiment": EXPERIMENT,
    "module": f"{MODULE}/module.toml",
    "course": "course.toml",
    "glossary": "glossary.toml",
}
TEXTS = {
    "zeros": bytes(5000),
    "not UTF-8": b"\xff\xfe" * 100,
    "brackets": b"+++\nx = " + b"[" * 5000 + b"\n+++\n",
    "tables": b"+++\nx = " + b"{a=" * 5000 + b"\n+++\n",
    "dots": b"+++\n" + b"a." * 60_000 + b"b = 1\n+++\n",
    "digits": b"+++\ntitle = " + b"9" * 5000 + b"\n+++\n",
    "a megabyte": b"+++\ntitle = 'x'\n+++\n" + b"word " * 200_000,
    "a gigabyte": None,
    "many choices": b"+++\n" + b"[[question]]\n" * 18_000 + b"+++\n",
    "control characters": f'+++\ntitle = "{CLIPBOARD}"\n+++\n'.encode(),
    "a key of control characters": f'+++\n"{CLIPBOARD}" = 1\n+++\n'.encode(),
    "half a character": b'+++\ntitle = "\\ud800"\n+++\n',
}
Put = Callable[[Path], None]


@pytest.fixture
def lessons(tmp_path: Path) -> Path:
    """Two modules of the shipped course, with a few of their pages."""
    root = tmp_path / "lessons"
    for module in ("01-tcp-basics", MODULE):
        shutil.copytree(places.lessons() / module / "experiments", root / module / "experiments")
        pages = sorted((places.lessons() / module).glob("*.md"))[:3]
        for path in {places.lessons() / module / "module.toml", *pages}:
            shutil.copy(path, root / module)
    shutil.copy(places.lessons() / STEP, root / STEP)
    shutil.copy(places.lessons() / "glossary.toml", root)
    modules = '["tcp-basics", "parallel-streams"]'
    (root / "course.toml").write_text(f'title = "A course"\nmodules = {modules}\nformat_version = 1\n')
    return root


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _nowhere(path: Path) -> None:
    path.symlink_to("nowhere")


def _written(text: bytes | None) -> Put:
    def put(path: Path) -> None:
        if text is None:
            with path.open("wb") as file:
                file.truncate(1 << 30)
        else:
            path.write_bytes(text)

    return put


PUTS: dict[str, Put] = {
    "a pipe": os.mkfifo,
    "a folder": _folder,
    "a loop": _loop,
    "a device": _device,
    "a link to nowhere": _nowhere,
    **{name: _written(text) for name, text in TEXTS.items()},
}


EACH = [(FILES["page"], put) for put in PUTS] + [(file, "brackets") for file in FILES.values()][1:]
"""Every damage of a page, and one of each other kind of file, which the same code reads."""


@pytest.mark.parametrize(("file", "damage"), EACH)
def test_a_hostile_file_costs_only_itself(lessons: Path, file: str, damage: str) -> None:
    (lessons / file).unlink()
    PUTS[damage](lessons / file)
    began = time.monotonic()
    course, problems = read_course(lessons)
    assert time.monotonic() - began < patience.seconds(5)
    lines = [str(problem) for problem in problems]
    about = [line for line in lines if line.startswith(f"lessons/{file}: ")]
    assert about, lines
    assert all(is_printable(line) and len(line) < 1000 for line in lines)
    left = {module.id for module in course.modules}
    every = {"tcp-basics", "parallel-streams"}
    assert left == every - ({"parallel-streams"} if file.endswith("module.toml") else set())
    if file == STEP:
        assert len(module_of(course).steps) >= 2
    said = lint(lessons)
    assert about[0] in said
    assert len(said) == len(set(said))


@pytest.mark.parametrize("command", ["list", "lint", "list random-loss"])
@pytest.mark.parametrize("file", [STEP, EXPERIMENT, "course.toml"])
def test_commands_go_on_with_the_rest_and_say_the_line(
    lessons: Path, monkeypatch: pytest.MonkeyPatch, file: str, command: str
) -> None:
    monkeypatch.setattr(places, "lessons", lambda: lessons)
    (lessons / file).write_bytes(b"+++\nx = " + b"[" * 5000 + b"\n+++\n")
    done = here(*command.split())
    if command == "list random-loss" and file in (EXPERIMENT, FILES["module"]):
        assert done.returncode == 2
        return
    assert done.returncode == 1, done.stderr
    assert re.search(rf"lessons/{re.escape(file)}(:\d+)?: ", done.stdout + done.stderr)
    if file != f"{MODULE}/module.toml" and command == "list":
        assert "parallel-streams" in done.stdout


SHOWN = {
    "control in prose": (STEP, "\n+++\n", "\n+++\nx\nab\x1b[2J\n", "prose: line 2, character 3 is U+001B"),
    "C1 in prose": (STEP, "\n+++\n", "\n+++\nab\x9b2J\n", "U+009B"),
    "carriage return": (STEP, "\n+++\n", "\n+++\nsafe\rrm -rf\n", "U+000D"),
    "text to the left": (STEP, 'title = "', 'title = "\u202e', "title: character 1 is U+202E"),
    "two lines of a title": (EXPERIMENT, 'title = "', 'title = "a\\nb', "title: has several lines"),
    "a huge seed": (EXPERIMENT, "title =", "seed = 99999999999999999999999\ntitle =", "seed"),
    "no number": (STEP, "[predict]", "[predict]\ntolerance = nan", "predict.tolerance: is not a number"),
    "a deep list": (EXPERIMENT, "title =", f"x = {'[' * 40}{']' * 40}\ntitle =", "nested more than"),
}


@pytest.mark.parametrize(("file", "old", "new", "said"), SHOWN.values(), ids=SHOWN)
def test_what_a_screen_could_not_take_names_file_key_and_place(
    edit: Edit, file: str, old: str, new: str, said: str
) -> None:
    _, problems = read_course(edit(file, old, new))
    assert [line for line in map(str, problems) if line.startswith(f"lessons/{file}: ") and said in line]


def test_a_hostile_name_of_a_file_is_told_in_printable_characters(lessons: Path) -> None:
    name = "\x1b]52;c;eA==\x07"
    shutil.copy(lessons / EXPERIMENT, lessons / MODULE / "experiments" / f"{name}.toml")
    shutil.copy(lessons / STEP, lessons / MODULE / f"77-{name}.md")
    course, problems = read_course(lessons)
    lines = [str(problem) for problem in problems]
    assert len(lines) == 2
    assert all(is_printable(line) and r"\x1b]52" in line and "rename the file" in line for line in lines)
    assert set(lines) <= set(lint(lessons))
    assert all(is_printable(each) for module in course.modules for each in module.experiments)


def test_a_device_or_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.toml")
    problem = LessonFile(tmp_path / "x.toml", tmp_path).problem("a\nb\x1b[2J" + "c" * 5000)
    assert is_printable(str(problem))
    assert len(str(problem)) < 500


@pytest.mark.parametrize(
    "text",
    [
        "9" * 5000, "9**9**9**9", "(" * 99 + "1", "'a'", "a.b", "__import__('os')", "9.9.9", "1/0",
        "sqrt(-1)", "min()", "\x00", "a if b else 2",
    ],
)  # fmt: skip
def test_no_expression_costs_or_raises_more_than_a_line(text: str) -> None:
    with pytest.raises(UsageError):
        expression(text).value({"a": 1.0})


def _string_places(text: str) -> list[int]:
    """Where a text of TOML begins, within its quotes."""
    return [match.end() for match in re.finditer(r'(?:= |, |\[)"(?!")', text)]


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_no_text_of_a_file_reaches_a_terminal_with_what_it_obeys(lessons: Path, file: str) -> None:
    path = lessons / file
    good = path.read_text(encoding="utf-8")
    places_of_texts = _string_places(good)
    assert places_of_texts
    for at in places_of_texts[:40:4]:
        path.write_text(f"{good[:at]}{CLIPBOARD}{good[at:]}", encoding="utf-8")
        course, problems = read_course(lessons)
        (line,) = [str(each) for each in problems if str(each).startswith(f"lessons/{file}: ")]
        assert "U+001B" in line
        assert is_printable(line)
        assert "\x1b" not in repr(course.modules) + repr([tuple(module.steps) for module in course.modules])
