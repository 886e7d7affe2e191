"""What can be read but should not be shown yet."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec
import pytest

from tcptutor.authoring.lint import lint
from tcptutor.base import places
from tcptutor.commands.lint import lint_course
from tcptutor.course import read_course
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.spec import Experiment, Flows
from tests.grading.evidence.student import LESSONS as SMALL

from .conftest import EXPERIMENT, MODULE, STEP, Edit, module_of, only, page

FIRST = page("what-a-stream-is")
NUMBER = page("up-to-the-knee")
FOUR = page("four-lossy-flows")
WIDE = "```\n" + "x" * 45 + "\n```"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of the course that `tcptutor new-course` begins with."""
    return Path(shutil.copytree(places.assets() / "example-course", tmp_path / "example"))


CASES = {
    "title repeated": (STEP, "\n+++\n", "\n+++\n# A single flow on a lossy path\n", "repeats the title"),
    "wide code": (STEP, "\n+++\n", f"\n+++\n{WIDE}\n", "code of 45 columns"),
    "open code": (STEP, "\n+++\n", "\n+++\n~~~\n", "closing ~~~ is missing"),
    "wall of text": (STEP, "\n+++\n", "\n+++\n" + "word " * 200, "words are too many for a page"),
    "no teaser": (STEP, 'path = "essential"', 'path = "deeper"', "teaser: is missing"),
    "a teaser of an essential page": (
        STEP,
        'path = "essential"',
        'path = "essential"\nteaser = "x"',
        "teaser",
    ),
    "a teaser that ends a sentence": (
        STEP,
        'path = "essential"',
        'path = "deeper"\nteaser = "why."',
        "remove blanks around it and the full stop",
    ),
    "a long teaser": (
        STEP,
        'path = "essential"',
        f'path = "deeper"\nteaser = "{"x" * 61}"',
        "61 characters: at most 60",
    ),
    "no idea": (STEP, 'idea = "', 'idea = "" # "', "idea: is missing"),
    "a long idea": (STEP, 'idea = "', f'idea = "{"so long " * 20}', "at most 160 characters"),
    "a formula that is not": (STEP, 'formula = "mathis"', 'formula = "matis"', "did you mean mathis"),
    "no sentence": (
        FIRST,
        "Each connection has its own window, and the windows add up.",
        "Yes",
        "choice[2].feedback",
    ),
    "no explanation": (NUMBER, 'explanation = "Before', 'explanation = "" # "', "explanation: is empty"),
    "no numeric feedback": (NUMBER, 'feedback = "A full', 'feedback = "" # "', "feedback"),
    "loose tolerance": (NUMBER, "tolerance = 0.05", "tolerance = 0.5", "tolerance: 0.5"),
    "same choices": (
        FIRST,
        "The capacity of the link between them",
        "The number of routes that packets take",
        "the same",
    ),
    "a question that may be about the run": (
        STEP,
        "about_run = true\n",
        "",
        "faster-link: about_run: is missing: set true",
    ),
    "a hint that prints the result": (
        STEP,
        "how many per second?",
        "about 9 million bits per second.",
        "predict.hints[3]: is shown before the run",
    ),
    "prose that prints the result": (
        STEP,
        "The path: 100",
        "9.0 Mbit/s! The path: 100",
        "prose: is shown before",
    ),
    "a title that prints the result": (
        STEP,
        "A single flow on a lossy path",
        "9 Mbit/s",
        "title: is shown before",
    ),
    "a question before the run that prints its result": (
        STEP,
        'about_run = true\nkind = "single"\nprompt = "',
        'about_run = false\nkind = "single"\nprompt = "It had 9 Mbit/s. ',
        "question faster-link: prompt: is shown before",
    ),
    "a hint that prints the answer": (
        NUMBER,
        "90 / 9 Mbit/s.",
        "90 / 9 = 10 Mbit/s.",
        "question neighbour: hints[3]: contains the answer, 10 Mbit/s",
    ),
    "a number about the run that nothing checks": (
        STEP,
        "The link is about",
        "You saw 9.1 Mbit/s. The link is about",
        "after_run: '9.1 Mbit/s' has no [[claim]]",
    ),
    "a claim that is not on the page": (
        STEP,
        'text = "9.0 Mbit/s"',
        'text = "8.96 Mbit/s"',
        "claim[1].text: '8.96 Mbit/s' is not on the page",
    ),
    "a claim that the formula contradicts": (
        STEP,
        'quantity = "mathis"',
        'quantity = "link"',
        "claim[1]: '9.0 Mbit/s': the formula gives 95.6",
    ),
    "a claim without a number": (
        STEP,
        'value = "30"',
        'value = "some"',
        "claim[2].value: ",
    ),
    "a page to compare with that is not there": (
        FOUR,
        'compare_with = "one-lossy-flow"',
        'compare_with = "up-to-the-knee"',
        "experiment.compare_with: no earlier page of this module runs an experiment as 'up-to-the-knee'",
    ),
    "a page to read on that is not there": (
        NUMBER,
        'id = "neighbour"',
        'id = "neighbour"\npage = "up-to-the-kne"',
        "question neighbour: page: no page 'up-to-the-kne': did you mean up-to-the-knee?",
    ),
    "no such result": (EXPERIMENT, "eight streams, 1 %", "nine streams, 1 %", "has no result 'nine"),
    "no title": (
        f"{MODULE}/module.toml",
        'title = "Parallel streams"',
        'title = ""',
        "title: is empty",
    ),
    "extra that is not": (
        f"{MODULE}/module.toml",
        "extra_experiments = [",
        'extra_experiments = ["none",',
        "no experiment 'none'",
    ),
}


@pytest.mark.parametrize(("file", "old", "new", "said"), CASES.values(), ids=CASES)
def test_weak_pages_are_reported(edit: Edit, file: str, old: str, new: str, said: str) -> None:
    found = lint(only(edit(file, old, new), file) if "/" in file else edit(file, old, new))
    assert any(line.startswith(f"lessons/{file}: ") and said in line for line in found), found


@pytest.mark.parametrize("hints", ["[]", '["Look."]', '["Look.", "Look."]', '["Look.", ""]'])
def test_hints_come_in_levels(lessons: Path, hints: str) -> None:
    path = lessons / FIRST
    text = re.sub(
        r"hints = \[.*?\]\n", f"hints = {hints}\n", path.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    path.write_text(text, encoding="utf-8")
    assert any("question what-changes: hints: " in line for line in lint(only(lessons, FIRST)))


def test_text_after_a_run_needs_a_run(edit: Edit) -> None:
    root = edit(
        FIRST, 'title = "Parallel streams: one file, several connections"', 'title = "T"\nafter_run = "Seen."'
    )
    assert [
        line for line in lint(only(root, FIRST)) if "after_run: is never shown without an experiment" in line
    ]


def test_an_experiment_that_no_page_uses_must_be_listed(lessons: Path, edit: Edit) -> None:
    text = (lessons / EXPERIMENT).read_text(encoding="utf-8")
    (lessons / MODULE / "experiments/spare.toml").write_text(text, encoding="utf-8")
    only(lessons, EXPERIMENT)
    assert [line for line in lint(lessons) if "no page uses the experiment 'spare'" in line]
    edit(f"{MODULE}/module.toml", "extra_experiments = [", 'extra_experiments = [\n    "spare",')
    assert [line for line in lint(lessons) if "spare" in line] == []
    assert "spare" in module_of(read_course(lessons)[0]).extra_experiments


def test_a_page_that_cannot_be_read_is_reported_alone(tmp_path: Path) -> None:
    root = Path(shutil.copytree(SMALL, tmp_path / "small"))
    before = {line for line in lint(root) if not line.startswith("small/01-small/0")}
    broken = sorted(root.glob("01-small/*.md"))
    for file in broken:
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("title = ", "title = [", 1), encoding="utf-8")
    found = lint(root)
    assert len(found) == len(broken) + len(before)
    assert all("not valid TOML" in line for line in found if line not in before)


def test_a_term_of_a_page_that_cannot_be_read_is_no_second_problem(example: Path) -> None:
    page = example / "01-one-link/01-to-read.md"
    page.write_text(page.read_text(encoding="utf-8").replace("title = ", "title = [", 1), encoding="utf-8")
    (only_problem,) = lint(example)
    assert "01-to-read.md: not valid TOML" in only_problem


def test_files_are_named_from_the_folder_where_the_author_is(
    example: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = example / "01-one-link/01-to-read.md"
    page.write_text(page.read_text(encoding="utf-8").replace("idea = ", "ida = ", 1), encoding="utf-8")
    monkeypatch.chdir(example)
    assert lint_course(Path()) == 1
    monkeypatch.chdir(example.parent)
    assert lint_course(Path("example")) == 1
    inside, above = (line for line in capsys.readouterr().out.splitlines() if "ida" in line)
    assert inside.startswith("01-one-link/01-to-read.md:6: ")
    assert above.startswith("example/01-one-link/01-to-read.md:6: ")


def test_a_law_s_missing_parameters_are_named_together(example: Path) -> None:
    page = example / "01-one-link/07-figures.md"
    text = page.read_text(encoding="utf-8").replace(
        'of = "window", from = "10 kB", to = "200 kB"', 'of = "time", to = "9 s"'
    )
    text = text.replace('link = "20 Mbit/s"\nlabel = "window / RTT"', "")
    page.write_text(text.replace('law = "window-limited"', 'law = "trajectory"'), encoding="utf-8")
    assert [line for line in lint(example) if "needs rate and queue: add them to set" in line]
    page.write_text(text.replace('law = "window-limited"', 'law = "zzz"'), encoding="utf-8")
    (unknown,) = [line for line in lint(example) if "no law 'zzz'" in line]
    assert "trajectory" in unknown
    assert "..." not in unknown, "nothing is cut off"


@pytest.mark.parametrize("sources", ["", 'sources = ["own measurements, spring 2026"]'])
def test_an_experiment_of_one_s_own_needs_no_published_document(tmp_path: Path, sources: str) -> None:
    root = Path(shutil.copytree(SMALL, tmp_path / "small"))
    experiment = root / "01-small/experiments/lossy.toml"
    text = experiment.read_text(encoding="utf-8")
    experiment.write_text(text.replace('sources = ["hacker_parallel_sockets"]', sources), encoding="utf-8")
    assert not [line for line in lint(root) if "sources" in line]
    experiment.write_text(text.replace('sockets"]', 'sockets: none"]'), encoding="utf-8")
    assert [line for line in lint(root) if "sources: hacker_parallel_sockets has no result" in line]


def test_unused_files_are_reported(lessons: Path) -> None:
    only(lessons, STEP)
    (lessons / MODULE / "notes.md").write_text("draft", encoding="utf-8")
    (lessons / "05-unlisted").mkdir()
    found = lint(lessons)
    assert any("notes.md: is ignored" in line for line in found)
    assert any("does not list the module 'unlisted'" in line for line in found)


def test_duplicate_page_numbers_and_ids_are_reported(lessons: Path) -> None:
    step = lessons / STEP
    (step.parent / "03-twin.md").write_text(step.read_text(encoding="utf-8"), encoding="utf-8")
    (step.parent / "10-one-lossy-flow.md").write_text(step.read_text(encoding="utf-8"), encoding="utf-8")
    found = lint(only(lessons, STEP))
    assert any("03-twin.md: has the same number" in line for line in found)
    assert any("10-one-lossy-flow.md: duplicate step" in line for line in found)


def test_an_empty_course_is_not_fit(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text('title = "T"\nmodules = []\nformat_version = 1\n', encoding="utf-8")
    assert any("is empty: list at least one module" in line for line in lint(tmp_path))


def test_a_span_that_no_run_has_is_refused() -> None:
    asked = ReadOff(id="q", prompt="?", quantity="throughput", start="10 s", end="10 s")
    assert asked.contradiction() == ("end", "10 s is not after the start at 10 s")
    assert msgspec.structs.replace(asked, end="11 s").contradiction() is None
    early = msgspec.structs.replace(asked, start="", end="2 s")
    run = Experiment(name="m/e", flows=Flows(duration=18, warmup=2))
    assert ("end", "2 s is within the warm-up of 2 s: set `start`") in list(early.problems(run))
