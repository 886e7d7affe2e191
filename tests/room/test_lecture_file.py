"""Lecture files: what each key does, and one line for each mistake."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.base.errors import ContentError
from tcptutor.course import outline
from tcptutor.course.outline import Course
from tcptutor.room.deck import default_lecture, step_of
from tcptutor.room.lecture_file import read_lecture, write_lecture
from tcptutor.room.slides import Ask, FlowsShown, Lecture, OwnText, RunShown, Slide
from tests import command


@pytest.fixture(scope="module")
def course() -> Course:
    return outline.load()


def read(folder: Path, text: str | bytes, course: Course) -> Lecture:
    path = folder / "lecture.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_lecture(path, course)


def slide(folder: Path, text: str, course: Course) -> Slide:
    """The only slide of a lecture."""
    (found,) = read(folder, f'title = "x"\n[[slide]]\n{text}', course).slides
    return found


def test_order_hidden_pages_and_own_slides_are_as_written(tmp_path: Path, course: Course) -> None:
    lecture = read(
        tmp_path,
        """
        title = "Forty-five minutes"
        minutes = 45
        [[slide]]
        title = "Before we begin"
        text = '''
        Phones out.

        - one
        - two

        ```
        iperf3 -c h2

        ss -ti
        ```
        '''
        notes = "Wait."
        [[slide]]
        page = "3.7"
        minutes = 8
        [[slide]]
        module = "pacing"
        hide = ["how-fast-to-pace", "2"]
        add = ["token-buckets"]
        [[slide]]
        page = "tcp-basics/recap"
        title = "What to keep"
        """,
        course,
    )
    assert (lecture.title, lecture.planned_minutes) == ("Forty-five minutes", 45)
    own, page, *of_module, last = lecture.slides
    assert own.notes == "Wait."
    assert [each.markdown.split()[0] for each in own.steps if isinstance(each, OwnText)] == [
        "Phones",
        "-",
        "```",
    ]
    assert (page.page, page.minutes) == ("larger-segments", 8)
    pages = [each.page for each in of_module]
    assert "token-buckets" in pages
    assert not {"how-fast-to-pace", "a-burst-before-a-short-queue"} & set(pages)
    assert pages == [id_ for id_ in ("", *outline_ids(course, "pacing")) if id_ in pages]
    assert (last.headline, last.page) == ("What to keep", "recap")


def outline_ids(course: Course, module: str) -> tuple[str, ...]:
    return next(each for each in course.modules if each.id == module).step_ids


def test_ask_chooses_what_the_room_is_asked(tmp_path: Path, course: Course) -> None:
    page = 'page = "parallel-streams/one-lossy-flow"\n'
    assert asked(slide(tmp_path, f'{page}ask = ["less-loss", "faster-link"]', course)) == [
        "less-loss",
        "faster-link",
    ]
    assert asked(slide(tmp_path, f'{page}ask = ["predict"]', course)) == ["predict"]
    silent = slide(tmp_path, f"{page}ask = []", course)
    assert asked(silent) == []
    assert any(isinstance(each, RunShown) for each in silent.steps)


def asked(of: Slide) -> list[str]:
    return [each.activity for each in of.steps if isinstance(each, Ask)]


def test_steps_are_shown_in_the_given_order(tmp_path: Path, course: Course) -> None:
    found = slide(
        tmp_path,
        """
        page = "parallel-streams/one-lossy-flow"
        steps = ["run", "idea", "ask less-loss", "answer less-loss"]
        text = "By the way"
        notes = "Mine"
        """,
        course,
    )
    kinds = [type(each).__name__ for each in found.steps]
    assert kinds == ["RunShown", "Sentence", "Ask", "Answer", "OwnText"]
    assert found.notes.startswith("Mine\n")
    page = step_of(course, found)
    assert page is not None and page.prose.split()[0] in found.notes


def test_flows_name_an_experiment_with_a_bottleneck(tmp_path: Path, course: Course) -> None:
    found = slide(
        tmp_path,
        'title = "Who?"\nflows = "parallel-streams/one-window"\nalgorithms = ["bbr", "reno"]',
        course,
    )
    assert found.steps == (FlowsShown(experiment="parallel-streams/one-window", algorithms=("bbr", "reno")),)


def test_written_lecture_has_the_pages_and_steps_of_the_default_one(tmp_path: Path, course: Course) -> None:
    for target in ("3", "tcp-basics/full-and-no-wait"):
        default, _ = default_lecture(course, target)
        again = read(tmp_path, write_lecture(course, target), course)
        assert (again.title, len(again.slides)) == (default.title, len(default.slides))
        assert again.slides[1:] == default.slides[1:]
        assert again.planned_minutes == sum(each.minutes for each in default.slides)


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ('page = "parallel-stream/one-lossy-flow"', "slide.page", "parallel-streams"),
        ('page = "parallel-streams/one-losy-flow"', "slide.page", "one-lossy-flow"),
        ('page = "one-lossy-flow"', "slide.page", "parallel-streams/one-lossy-flow"),
        ('page = "3.99"', "slide.page", "tcptutor list parallel-streams"),
        ('pages = "3.4"', "slide.pages", "page"),
        ("page = 3.4", "slide.page", "text"),
        ('page = "3.4"\nsteps = ["runs"]', "slide.steps", "run"),
        ('page = "3.4"\nsteps = ["run 4 BDP"]', "slide.steps", "run"),
        ('page = "3.1"\nsteps = ["run"]', "slide.steps", "no run"),
        ('page = "3.4"\nsteps = ["figure teeth"]', "slide.steps", "tooth"),
        ('page = "3.4"\nsteps = ["answer predict"]', "slide.steps", "faster-link"),
        ('page = "3.4"\nsteps = "run"', "slide.steps", "list"),
        ('page = "3.4"\nask = ["faster-lnk"]', "slide.ask", "faster-link"),
        ('page = "3.4"\nask = ["predicted"]', "slide.ask", "predict"),
        ('page = "3.4"\nask = []\nsteps = []', "slide.ask", "steps"),
        ('page = "3.4"\nmodule = "pacing"', "slide.module", "page"),
        ('page = "3.4"\nhide = ["3"]', "slide.hide", "module"),
        ('page = "3.4"\nminutes = -1', "slide.minutes", "0 to 600"),
        ('page = "3.4"\nminutes = nan', "slide.minutes", "number"),
        ('page = "3.4"\nalgorithms = ["bbr"]', "slide.algorithms", "flows"),
        ('module = "pacing"\nnotes = "x"', "slide.notes", "several"),
        ('module = "pacing"\nhide = ["token-bucket"]', "slide.hide", "token-buckets"),
        ('module = "pacing"\nadd = ["nowhere"]', "slide.add", "tcptutor list pacing"),
        ('text = "no title"', "slide", "title"),
        ('title = "x"\nsteps = ["run"]', "slide.steps", "page"),
        ('title = "x"\nflows = "random-los"', "slide.flows", "random-loss"),
        (
            'title = "x"\nflows = "parallel-streams/one-window"\nalgorithms = ["bbb"]',
            "slide.algorithms",
            "bbr",
        ),
        ('title = "a\\u001b[31m"', "slide.title", "U+001B"),
        ('title = "two\\nlines"', "slide.title", "one line"),
        ('title = "x', "", "TOML"),
    ],
)
def test_mistake_in_a_slide_is_one_line_with_its_key(
    tmp_path: Path, course: Course, text: str, key: str, reason: str
) -> None:
    with pytest.raises(ContentError) as caught:
        slide(tmp_path, text, course)
    message = str(caught.value)
    assert "\n" not in message
    assert f"/lecture.toml: {key}" in message
    assert reason in message


def test_each_mistake_of_a_file_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "lecture.toml"
    path.write_text(
        """
        titel = "x"
        minutes = 1000
        [[slide]]
        page = "3.4"
        [[slide]]
        pages = "3.4"
        minutes = "8"
        [[slide]]
        page = "parallel-stream/one-lossy-flow"
        [[slide]]
        page = "3.4"
        hide = ["3"]
        minutes = -1
        """,
        encoding="utf-8",
    )
    done = command.here("present", "--lecture", path, "--check")
    assert done.returncode == 2
    keys = [line.partition("lecture.toml: ")[2].partition(": ")[0] for line in done.stderr.splitlines()]
    slides = ["slide[2].pages", "slide[2].minutes", "slide[3].page", "slide[4].hide", "slide[4].minutes"]
    assert keys == ["titel", "title", "minutes", *slides]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "title"),
        (b'title = " "\n[[slide]]\npage = "3.4"\n', "title: is empty"),
        (b'title = "x"\n', "slide"),
        (b'title = "x"\nminutes = 1e9\n[[slide]]\npage = "3.4"\n', "minutes"),
        (b'title = "x"\nslide = "3.4"\n', "list"),
        (b'title = "x"\nslide = ["3.4", 3]\n', "table"),
        (b'title = "x"\nminutes = 1' + b"0" * 400 + b'\n[[slide]]\npage = "3.4"\n', "minutes"),
        (b'title = "x"\n' + b"[[slide]]\n" * 25_000, "19 more"),
        ('title = "gr\u00f6\u00dfer"'.encode("latin-1"), "UTF-8"),
        (b'title = "x"\n' + b"# long\n" * 100_000, "256 KiB"),
        (b'title = "x"\n' + b'[[slide]]\nmodule = "pacing"\n' * 60, "500 slides"),
        (b"\x00\xff", "UTF-8"),
    ],
    ids=[
        "empty",
        "blank",
        "slides",
        "minutes",
        "type",
        "entries",
        "huge",
        "empties",
        "latin",
        "size",
        "many",
        "binary",
    ],
)
def test_file_that_cannot_be_read_is_one_line(
    tmp_path: Path, course: Course, content: bytes, reason: str
) -> None:
    with pytest.raises(ContentError) as caught:
        read(tmp_path, content, course)
    assert "\n" not in str(caught.value)
    assert reason in str(caught.value)


def test_missing_file_folder_and_pipe_are_refused_at_once(tmp_path: Path, course: Course) -> None:

    os.mkfifo(tmp_path / "pipe")
    for name in ("missing.toml", ".", "pipe"):
        with pytest.raises(ContentError):
            read_lecture(tmp_path / name, course)


def test_example_of_the_documentation_is_a_lecture(tmp_path: Path, course: Course) -> None:
    page = (places.assets() / "documentation" / "lecture.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    lecture = read(tmp_path, example, course)
    assert {type(step).__name__ for each in lecture.slides for step in each.steps} >= {
        "OwnText",
        "Ask",
        "RunShown",
        "FlowsShown",
    }
    assert len(page.splitlines()) <= 80


def test_written_lecture_replaces_no_file(tmp_path: Path) -> None:
    words = ("present", "pacing", "--write-lecture", tmp_path / "mine.toml")
    assert command.here(*words).returncode == 0
    written = (tmp_path / "mine.toml").read_bytes()
    done = command.here(*words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (tmp_path / "mine.toml").read_bytes() == written
    assert command.here("present", "--write-lecture", tmp_path, "--no-votes").returncode == 2
