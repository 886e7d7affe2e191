"""What a class did, from hand-ins of students whose answers are known."""

from __future__ import annotations

import csv
import json
import random
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tcptutor.course import load
from tcptutor.course.activities.numeric import KnownMistake, Numeric
from tcptutor.course.activity import text_id
from tcptutor.grading import batch
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.class_page import class_page
from tcptutor.grading.evidence.keys import new_key
from tcptutor.grading.grade import GivenAnswer
from tcptutor.grading.item_statistics import Correlation, QuestionRow, answer_counts
from tcptutor.grading.survey import Survey, anonymize, survey
from tcptutor.grading.views import bar, ratio_bars, table_views
from tcptutor.ui.frame import ClassApp
from tests.chosen import chosen
from tests.command import here as tcptutor
from tests.grading.evidence.doer import Doer, able
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in
from tests.grading.graded import graded
from tests.ui.screen import text, until_text

NAMES = ("ada", "bob", "cleo", "dan", "eve", "finn", "gina", "hugo", "ines", "jan")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ada and Bob with everything, three who answer wrongly at first, others who only answer, one damaged file."""
    top = tmp_path_factory.mktemp("class")
    made = top / "hand-ins"
    made.mkdir()
    for name in ("ada", "bob"):
        handed_in(name, top / name).rename(made / f"{name}.tcphandin")

    def wrong(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.answer(1, "which")
        one.answer(1, "how-much", "1 MB")

    for name in NAMES[2:5]:
        handed_in(name, top / name, wrong).rename(made / f"{name}.tcphandin")
    for name in NAMES[5:]:
        handed_in(name, top / name, lambda one: one.answer(1, "which")).rename(made / f"{name}.tcphandin")
    (made / "x.tcphandin").write_bytes(b"nothing")
    return made


@pytest.fixture(scope="module")
def found(folder: Path) -> Survey:
    asked = GradingBasis(LESSONS, KEY.code)
    return survey(graded(batch.find_hand_ins([folder]), asked), asked.course)


def test_each_student_has_a_row_and_a_file_that_is_none_a_line(found: Survey) -> None:
    assert [row.student for row in found.students] == list(NAMES)
    ada, gina = found.students[0], found.students[6]
    assert (ada.total, ada.of, ada.done, ada.activities, ada.doubts) == (19, 19, 10, 10, 0)
    assert (gina.total, gina.of, gina.done) == (2, 19, 1)
    (problem,) = found.problems
    assert "x.tcphandin is not a hand-in" in problem


def test_pages_tell_who_did_them_and_how_well(found: Survey) -> None:
    assert [(row.page, row.done, row.students) for row in found.pages] == [
        ("asked", 10, 10),
        *((page, 2, 10) for page in ("ran", "swept", "turned", "by-hand")),
    ]
    # Of 4 marks: two have all, three half of one question's, five one question's.
    assert found.pages[0].mean == pytest.approx((2 * 1 + 3 * 0.25 + 5 * 0.5) / 10)


def test_a_page_is_done_by_those_who_earned_marks_on_it(tmp_path: Path) -> None:
    """A goal that the kernel never held is refused; a wrong answer is work without marks."""

    def tries(one: Student) -> None:
        one.works(0.01)
        one.answer(1, "which", (1,))
        one.answer(2, "predict", "2 Mbit/s")

    files = [
        handed_in(name, tmp_path / name, tries).rename(tmp_path / name / f"{name}.x") for name in NAMES[:3]
    ]
    asked = GradingBasis(LESSONS, KEY.code)
    pages = {row.page: (row.done, row.tried) for row in survey(graded(files, asked), asked.course).pages}
    assert pages == {"asked": (0, 3), "ran": (3, 3), "by-hand": (0, 3)}


def test_wrong_answers_are_counted_with_their_misconception(found: Survey) -> None:
    which, how_much = found.questions[:2]
    assert (which.activity, which.answered, which.right_first) == ("which", 10, 7)
    (wrong,) = which.wrong
    assert (wrong.text, wrong.feedback, wrong.students) == ("RTT", "That is a time.", 3)
    (number,) = how_much.wrong
    # Each is asked with other numbers: what was typed is nothing that others share.
    assert (number.text, number.students) == ("", 3)
    assert number.feedback.startswith("Throughput is window / RTT")


def test_predictions_stand_beside_measurements_and_the_model(found: Survey) -> None:
    ran, swept = found.predictions
    assert ran.page == "ran"
    assert ran.predicted == (2e6, 2e6)
    assert len(ran.measured) == 2
    assert ran.model == pytest.approx(sum(ran.measured) / 2, rel=0.5)
    assert swept.predicted == (9e6, 9e6)
    assert swept.model == pytest.approx(8 * 25e3 / 20e-3, rel=0.1)
    assert swept.measured == pytest.approx((swept.model,) * 2, rel=0.2), "of the sweep's runs at 25 kB"


def test_questions_that_do_not_tell_students_apart_are_named_once_that_is_known(tmp_path: Path) -> None:
    course = load(LESSONS)
    weak = survey([], course)
    assert weak.weak == ()
    paths = []
    for number in range(40):
        chance = random.Random(number)
        # Who knows more of all else knows less of the first question.
        able_to = able(chance, 0.05 if number % 2 else 0.95)

        def answer(activity, study, able_to=able_to, number=number):  # type: ignore[no-untyped-def]
            if activity.id == "which":
                return chosen(activity, 0 if number % 2 else 1)
            return able_to(activity, study)

        one = Doer(course, tmp_path / f"{number}", answer, student=f"s{number}", code=KEY.code)
        one.does()
        paths.append(one.hands_in(tmp_path / f"{number}.tcphandin"))
        one.journal.close()
    found = survey(graded(paths, GradingBasis(LESSONS, KEY.code)), course)
    which = found.questions[0]
    assert which in found.weak
    assert which.discrimination is not None
    assert which.discrimination.high < -0.3
    notes = next(view for view in table_views(found) if view.id == "questions").notes
    told = "asked which does not separate strong students from weak ones: r = -"
    assert any(note.startswith(told) for note in notes)


@pytest.mark.parametrize(("r", "weak"), [(-1.0, True), (0.0, False), (1.0, False)])
def test_a_question_answered_exactly_against_all_others_is_weak(r: float, weak: bool) -> None:
    row = QuestionRow(
        module="m",
        page="p",
        activity="q",
        kind="single",
        prompt="?",
        answered=8,
        right_first=4,
        discrimination=Correlation.of(r, 8),
    )
    assert row.discrimination is not None
    assert row.discrimination.low <= r + 1e-6 and r - 1e-6 <= row.discrimination.high
    assert row.is_weak == weak


def test_the_interval_of_a_correlation_is_that_of_fisher() -> None:
    """The example r = 0.5 of 28 pairs: z = 0.5493 ± 1.96 / 5."""
    found = Correlation.of(0.5, 28)
    assert (found.low, found.high) == (pytest.approx(0.156, abs=1e-3), pytest.approx(0.736, abs=1e-3))


def test_the_statistics_of_a_question_count_all_choices_and_numbers_by_their_misconception(
    found: Survey,
) -> None:
    which, how_much = found.questions[:2]
    assert which.difficulty == 0.7
    assert [(each.text, each.right, each.students) for each in which.answers if each.students] == [
        ("cwnd", True, 7),
        ("RTT", False, 3),
    ]
    assert len(which.answers) > 2 or sum(each.students for each in which.answers) == 10
    right, wrong = how_much.answers
    assert (right.right, right.students, wrong.text, wrong.students) == (True, 2, "", 3)


def test_hints_and_times_are_those_of_the_question(tmp_path: Path) -> None:
    def slow(one: Student) -> None:
        one.journal.visit("small", "asked")
        one.journal.hint("small", "asked", "which", 1)
        one.journal.hint("small", "asked", "which", 2)
        one.answer(1, "which")

    files = [handed_in("ada", tmp_path / "ada", slow)]
    files.append(
        handed_in("bob", tmp_path / "bob", lambda one: one.answer(1, "which")).rename(
            tmp_path / "b.tcphandin"
        )
    )
    basis = GradingBasis(LESSONS, KEY.code)
    which = survey(graded(files, basis), basis.course).questions[0]
    assert (which.with_hints, which.mean_hints) == (1, 1.0)
    assert which.median_seconds is not None
    assert 0 <= which.median_seconds < 60


def test_items_are_written_a_row_a_question(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "items.csv"
    assert tcptutor(*_class(str(folder), "--items", str(target))).stdout == f"wrote {target}\n"
    rows = {row["question"]: row for row in csv.DictReader(target.read_text().splitlines())}
    which = rows["which"]
    assert (which["students"], which["right_first"], which["difficulty"]) == ("10", "7", "0.7")
    low, r, high = (
        float(which[name]) for name in ("discrimination_low", "discrimination", "discrimination_high")
    )
    # By hand: first answers 1 1 0 0 0 1 1 1 1 1, shares of other marks 1 1 0 0 0 0 0 0 0 0, means 0.7 and 0.2:
    # r = (0.2 - 0.7 * 0.2) / sqrt(0.21 * 0.16), and Fisher's z ± 1.96 / sqrt(7).
    assert (low, r, high) == (-0.3808, 0.3273, 0.7934)
    assert which["prompt"] == "Which of these is a window?"
    answers = {which[f"answer_{n}"]: which for n in range(1, 5) if which.get(f"answer_{n}")}
    assert "RTT" in answers
    number = next(n for n in range(1, 5) if which[f"answer_{n}"] == "RTT")
    assert which[f"id_{number}"] == text_id("RTT")
    assert (which[f"right_{number}"], which[f"students_{number}"], which[f"why_{number}"]) == (
        "0", "3", "That is a time.",
    )  # fmt: skip
    how_much = rows["how-much"]
    assert how_much["prompt"] == "A flow gets …, and its RTT is …. How much is on the way?"
    assert (how_much["id_1"], how_much["answer_1"], how_much["students_1"]) == (
        "answer",
        "rate * trip / 8",
        "2",
    )
    assert (how_much["id_2"], how_much["answer_2"]) == ("", "")


def test_bars_are_as_long_as_their_share() -> None:
    assert [bar(share) for share in (0, 0.5, 1, 7, 0.0125)] == ["", "█████", "█" * 10, "█" * 10, "▏"]


def test_predictions_are_counted_by_how_far_off_they_are(found: Survey) -> None:
    ran = found.predictions[0]
    assert len(ratio_bars(ran)) == 18
    assert ratio_bars(ran).strip() == "██"


class _Tags(HTMLParser):
    """Fails for tags that are not closed in their order."""

    void = frozenset({"meta", "br", "rect"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in self.void:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.void:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page_is_whole_and_needs_nothing_else(found: Survey) -> None:
    page = class_page(found)
    tags = _Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert not {"src=", "http:", "https:", "@import"} & set(page.split())
    assert "//" not in page
    told = " ".join(tags.text)
    for word in ("ada", "That is a time.", "Predictions", "x.tcphandin is not a hand-in"):
        assert word in told


def test_names_can_be_left_out_everywhere(found: Survey) -> None:
    told = class_page(anonymize(found)) + repr(table_views(anonymize(found)))
    assert not any(name in told for name in ("ada", "cleo", "gina"))
    assert "student 10" in told


def test_no_table_of_a_class_without_names_has_one(folder: Path, tmp_path: Path) -> None:
    marks, page = tmp_path / "marks.csv", tmp_path / "class.html"
    twice = tmp_path / "ada again.tcphandin"
    twice.write_bytes((folder / "ada.tcphandin").read_bytes())
    written = _class(str(folder), str(twice), "--anonymous", "--csv", str(marks), "--html", str(page))
    assert tcptutor(*written).returncode == 1
    told = [marks.read_text(), page.read_text()]
    told += [
        tcptutor(*_class(str(folder), str(twice), "--anonymous", how)).stdout for how in ("--json", "--text")
    ]
    for each in told:
        assert not [
            name
            for name in (*NAMES, "tcphandin")
            if name in each.replace("cleared", "").replace('"level"', "")
        ], each
        assert "student 10" in each
    rows = list(csv.DictReader(marks.read_text().splitlines()))
    assert [row["student"] for row in rows if row["student"]] == [
        f"student {number}" for number in range(1, 11)
    ]
    assert json.loads(told[2])["replaced"] == ["a student handed in more than once, and another file counts"]


def test_a_student_with_two_hand_ins_is_one_student(folder: Path, tmp_path: Path) -> None:
    twice = tmp_path / "ada again.tcphandin"
    twice.write_bytes((folder / "ada.tcphandin").read_bytes())
    done = tcptutor(*_class(str(folder), str(twice), "--json"))
    assert "ada.tcphandin of ada does not count: ada again.tcphandin does" in done.stderr
    found = json.loads(done.stdout)
    assert [row["student"] for row in found["students"]] == list(NAMES)
    assert found["students"][0]["file"] == "ada again.tcphandin"


def test_a_key_of_another_course_is_told(folder: Path) -> None:
    done = tcptutor(
        "class",
        "--course",
        str(LESSONS),
        "--key",
        new_key().code,
        str(folder / "ada.tcphandin"),
        str(folder / "bob.tcphandin"),
        "--text",
    )
    assert done.returncode == 1
    assert "no hand-in belongs to the course" in done.stderr
    assert "check the key" in done.stderr


def test_what_a_student_wrote_is_no_markup(tmp_path: Path) -> None:
    course, hostile = load(LESSONS), "<script>alert(1)</script>"
    one = Doer(course, tmp_path, student=hostile, code=KEY.code)
    one.does()
    page = class_page(survey(graded([one.hands_in()], GradingBasis(LESSONS, KEY.code)), course))
    assert hostile not in page
    assert "&lt;script&gt;" in page


# The command


def _class(*words: str) -> list[str]:
    return ["class", "--course", str(LESSONS), "--key", KEY.code, *words]


def test_the_command_prints_writes_and_counts_what_it_could_not_read(folder: Path, tmp_path: Path) -> None:
    told = tcptutor(*_class(str(folder)))
    assert told.returncode == 1
    assert "3 × RTT" in told.stdout
    assert "x.tcphandin is not a hand-in" in told.stderr
    document = json.loads(tcptutor(*_class(str(folder), "--json")).stdout)
    assert [row["student"] for row in document["students"]] == list(NAMES)
    which = document["questions"][0]
    assert which["difficulty"] == 0.7
    assert which["discrimination"]["low"] < which["discrimination"]["r"] < which["discrimination"]["high"]
    marks, page = tmp_path / "marks.csv", tmp_path / "class.html"
    wrote = tcptutor(*_class(str(folder), "--csv", str(marks), "--html", str(page)))
    assert wrote.stdout.splitlines() == [f"wrote {marks}", f"wrote {page}"]
    assert [row["student"] for row in csv.DictReader(marks.read_text().splitlines())][:2] == ["ada", "bob"]
    assert page.read_text().startswith("<!doctype html>")
    again = tcptutor(*_class(str(folder), "--html", str(page)))
    assert (again.returncode, "already exists" in again.stderr) == (2, True)


def test_one_module_can_be_counted_alone(folder: Path) -> None:
    wrong = tcptutor(*_class(str(folder), "--module", "smal"))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "small" in wrong.stderr
    alone = tcptutor(*_class(str(folder / "ada.tcphandin"), "--module", "small", "--json"))
    assert json.loads(alone.stdout)["students"][0]["of"] == 19


def test_a_folder_without_hand_ins_is_told(tmp_path: Path) -> None:
    told = tcptutor(*_class(str(tmp_path)))
    assert (told.returncode, "no hand-ins in" in told.stderr) == (2, True)


def test_reported_pages_come_with_the_students_lines_and_cost_no_marks(tmp_path: Path) -> None:
    def reports(one: Student) -> None:
        one.does_all()
        one.journal.report("small", "swept", "The axis has no unit.")
        one.journal.report("small", "asked", "<b>RTT</b> is not explained.")
        one.journal.report("gone", "page", "A page of another course.")

    file = handed_in("ada", tmp_path, reports)
    document = json.loads(tcptutor(*_class(str(file), "--json")).stdout)
    assert [(row["page"], row["student"], row["text"]) for row in document["reports"]] == [
        ("asked", "ada", "<b>RTT</b> is not explained."),
        ("swept", "ada", "The axis has no unit."),
    ]
    assert document["students"][0]["total"] == 19
    assert "The axis has no unit." in tcptutor(*_class(str(file), "--text")).stdout
    page = tmp_path / "class.html"
    tcptutor(*_class(str(file), "--html", str(page), "--anonymous"))
    assert "&lt;b&gt;RTT&lt;/b&gt; is not explained." in page.read_text()
    assert "ada" not in page.read_text()


# The screen


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_screen_shows_each_table_and_all_of_a_row(found: Survey, size: tuple[int, int]) -> None:
    app = ClassApp(found)
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "ada")
        assert "10 hand-ins" in text(app)
        await pilot.press("3")
        await until_text(pilot, "right at once")
        await until_text(pilot, "3 × a number: Throughput is window / RTT")
        await pilot.press("down")
        await until_text(pilot, "Which of these is a window?")
        await pilot.press("right")
        await until_text(pilot, "as measured")
        await pilot.press("right")
        await until_text(pilot, "no two hand-ins are more alike")
        await pilot.press("right")
        await until_text(pilot, "no page was reported")
        await pilot.press("right", "a")
        await until_text(pilot, "student 1 ")
        assert "ada" not in text(app)
        await pilot.press("a", "left", "left")
        await until_text(pilot, "no two hand-ins are more alike")


async def test_a_class_of_nobody_is_shown_as_such() -> None:
    app = ClassApp(survey([], load(LESSONS)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "no hand-in was graded")
        for number in range(2, 7):
            await pilot.press(str(number))
        await until_text(pilot, "no page was reported")


def test_the_marks_of_a_class_are_drawn_in_the_terminal_or_on_paper(folder: Path, tmp_path: Path) -> None:
    done = tcptutor(*_class(str(folder), "--plot"))
    lines = done.stdout.splitlines()
    assert len(lines) == 22
    assert "median" in lines[1]
    assert "█" in done.stdout
    assert lines[-1].strip() == "marks, %"
    assert {"0", "100"} <= set(lines[-2].split())
    picture = tmp_path / "marks.svg"
    assert f"{picture}\n" == tcptutor(*_class(str(folder), "--plot", str(picture))).stdout
    assert ">students<" in picture.read_text()


def test_a_misconception_is_one_whatever_numbers_each_student_had() -> None:
    question = Numeric(
        id="q",
        prompt="A segment takes {time}. What is the rate?",
        answer="11584 / time",
        unit="rate",
        feedback="One segment per {time}.",
        mistakes=(KnownMistake(value="1448 / time", feedback="That is {answer} in bytes."),),
        draw={"time": ("1 ms", "2 ms")},
    )
    given = [
        GivenAnswer(at="", text="1", correct=False, feedback=feedback, drawn=True)
        for feedback in ("One segment per 1 ms.", "One segment per 2 ms.", "That is 12 Mbit/s in bytes.")
    ]
    counts = [(each.id, each.value, each.feedback, each.students) for each in answer_counts(question, given)]
    assert counts == [
        ("", "", "One segment per ….", 2),
        ("mistake-1", "1448 / time", "That is … in bytes.", 1),
    ]
