"""What a student meets in the dialogue: commands, wrong lines, and every way to end it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.course import load as load_course
from tcptutor.course import personal
from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
from tcptutor.plain.console import MIN_WIDTH, Console, EndOfInput
from tcptutor.plain.front import Front
from tcptutor.plain.runs import Runs
from tcptutor.plain.sitting import Sitting
from tcptutor.study.own_course import OwnCourse, enrolment_in
from tests.plain.typist import RecordedLab, drawn
from tests.ui.made import one_page

COURSE = load_course(None)
WINDOW = "go tcp-basics/two-segments-at-a-time"


class Script:
    """Lines to type; the input ends after them."""

    echoes = False
    is_closed = False

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = [*lines]
        self.printed = ""

    def write(self, text: str) -> None:
        self.printed += text

    async def read_line(self) -> str:
        if not self._lines:
            raise EndOfInput
        return self._lines.pop(0)


async def typed(folder: Path, *lines: str, width: int = 0, student: str = "") -> str:
    """Type the lines in a journal in `folder`, and return what was printed."""
    if student:
        with closing(Journal.open(folder / "journal.db")) as journal:
            journal.enrol(student, "c0de")
    script = Script(lines)
    await held(folder, script, width)
    assert drawn(script.printed) == []
    return script.printed


async def held(folder: Path, script: Script, width: int = 0, course: Course = COURSE) -> None:
    """Hold the dialogue with these lines to its end."""
    journal = Journal.open(folder / "journal.db")
    console = Console(script, script)
    console.chosen_width = width
    runs = Runs(RecordedLab(), journal, console)
    sitting = Sitting(OwnCourse(course, journal, enrolment_in(journal)), journal, console, runs)
    try:
        await Front(sitting, iter(["begin"])).hold()
    except EndOfInput:
        pass
    finally:
        await runs.close()
        journal.close()


async def test_an_unknown_answer_is_repeated_with_what_is_possible(tmp_path: Path) -> None:
    printed = await typed(tmp_path, "nonsense", "go 1.1", "seven", "9", "1 2", "go 99.1", "go 1.99")
    assert "'nonsense' is not possible here: the modules are 1, 2" in printed
    for wrong in ("seven", "9"):
        assert f"'{wrong}' is not possible here. A number from 1 to 4" in printed
    assert "one answer" in printed
    assert "'99.1' is no page" in printed
    assert "1.1 to 1." in printed


async def test_a_page_s_number_typed_as_an_answer_is_told_how_to_go_there(tmp_path: Path) -> None:
    assert "go 1.2 opens a page" in await typed(tmp_path, "go 1.1", "1.2")


@pytest.mark.parametrize("width", range(MIN_WIDTH, 40))
def test_no_line_ends_between_a_number_and_its_unit(width: int) -> None:
    script = Script(())
    console = Console(script, script)
    console.chosen_width = width
    console.say(
        "At 30 ms and 70 ms the near flow gets 70 % of 20 Mbit/s, and the far one 30 %, with a queue of 50 kB."
    )
    assert not any(line[-1:].isdigit() for line in script.printed.splitlines()), script.printed
    assert "\N{NO-BREAK SPACE}" not in script.printed


@pytest.mark.parametrize("module", range(1, 6))
async def test_a_pre_test_names_the_line_that_passes_it(tmp_path: Path, module: int) -> None:
    before, line = await typed(tmp_path, f"go {module}.0"), f"go {module}.1"
    assert f"Type {line} to go" in before
    assert f"page 1 of {len(COURSE.modules[module - 1].steps)}" in await typed(
        tmp_path, f"go {module}.0", line
    )


@pytest.mark.parametrize("line", ["é" * 5000, "\x00\x1b[2J", "1" * 400, "; rm -rf /", "go \x1b]0;x\x07"])
async def test_any_line_is_survived(tmp_path: Path, line: str) -> None:
    printed = await typed(tmp_path, line, "1", line, "quit")
    assert printed.endswith("Everything is saved.\n")


async def test_every_command_works_on_a_page_and_none_ends_the_dialogue(tmp_path: Path) -> None:
    from tcptutor.plain.commands import COMMANDS

    lines = [name for name in COMMANDS if name not in ("quit", "home", "back", "next", "deeper", "review")]
    lines += ["find window", "", "term RTT", "at 2 s", "note a note", "note"]
    printed = await typed(tmp_path, WINDOW, *lines, "quit")
    assert printed.endswith("Everything is saved.\n")
    assert "Your note: a note" in printed
    assert "round-trip time, RTT:" in printed


async def test_a_prediction_waits_for_a_second_line_if_it_looks_like_a_slip(tmp_path: Path) -> None:
    printed = await typed(tmp_path, WINDOW, "42 Mbit/s", "run", "230 kbit/s", "undo", "231 kbit/s", "run")
    assert "did you mean 42 kbit/s? Type 42 Mbit/s again" in printed
    assert "First comes your prediction" in printed
    assert "Your prediction is locked: 231 kbit/s" in printed
    assert "Measured: 23" in printed


async def test_the_explanation_of_a_run_waits_for_the_observation(tmp_path: Path) -> None:
    assert "Why:" not in await typed(tmp_path, WINDOW, "skip", "skip", "run")
    assert "Why: the receiver's window" in await typed(tmp_path, WINDOW, "skip")


async def test_work_is_there_again_after_the_input_has_ended(tmp_path: Path) -> None:
    await typed(tmp_path, WINDOW, "230 kbit/s", "run", "skip", "note seen")
    printed = await typed(tmp_path, "", "answers", "result", "chart")
    assert "You have run this page before" in printed
    assert "Your prediction is locked: 230 kbit/s" in printed
    assert "Your note: seen" in printed
    assert "cwnd starts at 10 segments" in printed


async def test_lines_are_broken_at_the_width_or_not_at_all(tmp_path: Path) -> None:
    for width in (20, 40, 200):
        printed = await typed(tmp_path, "1", "read", "quit", width=width)
        words = max(map(len, printed.split()))
        assert all(len(line.rstrip()) < max(width, words + 1) for line in printed.splitlines())
    assert max(map(len, (await typed(tmp_path, "1", "width 0", "read", width=40)).splitlines())) > 200


async def test_a_hint_that_costs_marks_is_confirmed_first(tmp_path: Path) -> None:
    asked = await typed(tmp_path, "go 1.1", "hint", student="ada@example.edu")
    assert "Hint 1 of 3 takes a fifth of its marks. Type hint again" in asked
    assert "Hint 1 of 3: " not in asked
    assert "Hint 1 of 3: " in await typed(tmp_path, "go 1.1", "h", "hint", student="ada@example.edu")


async def test_an_enrollment_meanwhile_is_told_and_the_page_read_anew(tmp_path: Path) -> None:
    class Enrolling(Script):
        async def read_line(self) -> str:
            if len(self._lines) == 1:
                with closing(Journal.open(tmp_path / "journal.db")) as other:
                    other.enrol("ada@example.edu", "c0de")
            return await super().read_line()

    script = Enrolling(["go 1.1", "1"])
    await held(tmp_path, script)
    assert "You are enrolled as ada@example.edu now" in script.printed
    assert script.printed.count("How TCP carries a file") == 2


async def test_a_review_asks_what_is_due_and_records_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, page, id = "parallel-streams", "what-a-stream-is", "recall-queue"
    (asked,) = [
        each
        for every in COURSE.modules
        for step in every.steps
        if (every.id, step.id) == (module, page)
        for each in step.activities
        if each.id == id
    ]
    right = asked.reference().right
    assert isinstance(right, tuple)
    wrong = next(each for each in asked.entry_ids if each not in right)
    ago = (datetime.now(UTC) - timedelta(days=3)).isoformat()
    with monkeypatch.context() as then, closing(Journal.open(tmp_path / "journal.db")) as journal:
        then.setattr("tcptutor.journal.journal._now", lambda: ago)
        journal.visit(module, page)
        journal.respond(module, page, id, Response((wrong,), False, sureness="sure"))
    assert "1 question is due for review" in await typed(tmp_path, "review", "what?", "stop")
    with closing(Journal.open(tmp_path / "journal.db")) as journal:
        order = asked.shown_order(personal.order_seed(journal.identity, module, page, id))
    number = [asked.entry_ids[at] for at in order].index(right[0]) + 1
    printed = await typed(tmp_path, "review", "hint", f"{number} fairly", "review")
    assert "Right." in printed
    assert "1 of 1 right." in printed
    assert "No review is due" in printed


async def test_enter_leaves_a_finished_module_with_its_summary(tmp_path: Path) -> None:
    question = SingleChoice(
        id="q",
        prompt="Which one?",
        explanation="Because of it.",
        hints=("Look.", "Look again."),
        choices=(
            Alternative(text="This", correct=True, feedback="Yes, this."),
            Alternative(text="That", feedback="Not that one."),
        ),
    )
    course = one_page(question)
    module = replace(course.modules[0], objectives=("Tell this from that",))
    for line in ("1", "2"):
        script = Script(["1", line, "1" if line == "2" else "again", "where", "", "quit"])
        await held(tmp_path, script, course=replace(course, modules=(module,)))
    printed = script.printed
    assert "You have finished module 1, M." in printed
    assert "- Tell this from that" in printed
    assert "1 right answer" in printed
    assert "M: 1 of 1 pages done" in printed
