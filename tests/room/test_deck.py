"""Default lectures: each shipped module becomes slides that a room can follow."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course import outline
from tcptutor.course.outline import Course
from tcptutor.figures.figure import MIN_WIDTH
from tcptutor.room.deck import default_lecture, step_of
from tcptutor.room.excerpts import MOST_CHARACTERS, MOST_LINES, first_sentences, plain
from tcptutor.room.page_steps import votable
from tcptutor.room.slide_runs import lecture_runs, run_shown, slide_run
from tcptutor.room.slides import (
    SOLVED,
    Answer,
    Ask,
    FigureShown,
    NetworkShown,
    OwnText,
    RunShown,
    Sentence,
    Slide,
    VerdictShown,
)


@pytest.fixture(scope="module")
def course() -> Course:
    return outline.load()


def test_each_module_has_a_lecture_of_lines_figures_questions_and_runs_that_exist(course: Course) -> None:
    whole, _ = default_lecture(course)
    by_module = [default_lecture(course, module.id)[0] for module in course.modules]
    assert [slide for lecture in by_module for slide in lecture.slides] == list(whole.slides)
    for slide in whole.slides:
        assert slide.minutes > 0
        page = step_of(course, slide)
        for each in slide.steps:
            match each:
                case Sentence(text=text):
                    assert 0 < len(text) <= MOST_CHARACTERS
                    assert "**" not in text and "](" not in text
                case OwnText(markdown=text):
                    assert 0 < len(text.splitlines()) <= MOST_LINES
                case FigureShown(figure=figure):
                    assert page is not None
                    assert next(known for known in page.figures if known.id == figure).draw(MIN_WIDTH)
                case Ask(activity=activity) | Answer(activity=activity):
                    assert page is not None
                    assert activity in {known.id for known in votable(page)}
                case RunShown() | NetworkShown():
                    assert slide_run(course, slide, each) is not None


def test_lecture_fits_a_double_period(course: Course) -> None:
    for module in course.modules:
        lecture, _ = default_lecture(course, module.id)
        assert 45 <= sum(slide.minutes for slide in lecture.slides) <= 105


def test_prediction_comes_before_the_run_and_its_answer_after(course: Course) -> None:
    for slide in default_lecture(course)[0].slides:
        kinds = [type(each) for each in slide.steps]
        activities = [each.activity for each in slide.steps if isinstance(each, Ask)]
        if RunShown in kinds:
            assert VerdictShown in kinds[kinds.index(RunShown) :]
        if "predict" in activities:
            assert kinds.index(Ask) < kinds.index(RunShown)
        answers = [each.activity for each in slide.steps if isinstance(each, Answer)]
        assert set(answers) <= set(activities)


@pytest.mark.parametrize("target", ["parallel-streams/larger-segments", "3/7", "3.7", "parallel-streams/7/"])
def test_named_page_is_in_the_lecture_though_it_is_a_deeper_page(course: Course, target: str) -> None:
    lecture, place = default_lecture(course, target)
    assert lecture.slides[place.slide].page == "larger-segments"
    assert "larger-segments" not in {slide.page for slide in default_lecture(course, "3")[0].slides}


@pytest.mark.parametrize("target", ["parallel-stream", "9", "3/no-such-page", "3.99", "/"])
def test_unknown_module_or_page_is_refused(course: Course, target: str) -> None:
    with pytest.raises(UsageError):
        default_lecture(course, target)


def test_check_asks_each_question_of_the_page_that_a_room_can_vote_on(course: Course) -> None:
    lecture, place = default_lecture(course, "parallel-streams/final-check")
    slide = lecture.slides[place.slide]
    page = step_of(course, slide)
    assert page is not None
    asked = {each.activity for each in slide.steps if isinstance(each, Ask)}
    assert asked == {each.id for each in votable(page)}


def test_challenge_runs_as_it_is_and_solved(course: Course) -> None:
    lecture, place = default_lecture(course, "tcp-basics/full-and-no-wait")
    slide = lecture.slides[place.slide]
    shown = [each for each in slide.steps if isinstance(each, RunShown)]
    assert [each.setting for each in shown] == ["", SOLVED]
    before, after = (slide_run(course, slide, each) for each in shown)
    assert before is not None and after is not None
    assert before.experiment != after.experiment
    numbers = [number for number, each in enumerate(slide.steps) if isinstance(each, RunShown)]
    assert [
        run_shown(slide, number) for number in (numbers[0] - 1, numbers[0], numbers[1] - 1, numbers[1] + 1)
    ] == [
        None,
        shown[0],
        shown[0],
        shown[1],
    ]


def test_sweep_runs_at_the_predicted_value(course: Course) -> None:
    lecture, place = default_lecture(course, "tcp-basics/more-than-the-pipe-holds")
    runs = [run for number, run in lecture_runs(course, lecture) if number == place.slide]
    page = step_of(course, lecture.slides[place.slide])
    assert page is not None and page.sweep is not None
    assert runs == [page.sweep.experiments[page.sweep.values.index("4 BDP")]]


def test_digest_is_equal_for_equal_lectures_and_differs_with_a_page(course: Course) -> None:
    first, again = (default_lecture(outline.load(), "3")[0].digest for _ in range(2))
    assert first == again
    assert first != default_lecture(course, "3.7")[0].digest


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("You click *Download*, and wait. How fast?", "You click Download, and wait. How fast?"),
        ('"It\'s slow," he says. "Why?" Nobody knows.', '"It\'s slow," he says. "Why?" Nobody knows.'),
        ("Two limits. The path has these:\n\n- one\n- two", "Two limits."),
        ("Three parts. Each packet\n\n- travels", "Three parts."),
        ("| a | b |\n| --- | --- |", ""),
        ("- a list", ""),
        ("", ""),
        ("See [the page](page:a/b), with `tc`. " + "Long words. " * 40, None),
    ],
)
def test_first_sentences_are_whole_and_few(markdown: str, expected: str | None) -> None:
    found = first_sentences(markdown)
    if expected is not None:
        assert found == expected
    assert len(found) <= MOST_CHARACTERS
    assert "](" not in found


def test_plain_text_keeps_products_and_names_with_underscores() -> None:
    assert plain("**a** * b and `tcp_rmem` of *two*\nhosts") == "a * b and tcp_rmem of two hosts"


def test_speaker_has_the_commands_the_answers_and_what_the_models_say(course: Course) -> None:
    def slide(target: str) -> Slide:
        lecture, place = default_lecture(course, target)
        return lecture.slides[place.slide]

    by_hand = slide("broken-labs/it-connects")
    assert "tcptutor shell broken-labs/it-connects" in by_hand.notes
    assert any(isinstance(each, OwnText) and "h1$ ping" in each.markdown for each in by_hand.steps)
    predicted = slide("parallel-streams/one-lossy-flow")
    notes = {each.activity: each.notes for each in predicted.steps if isinstance(each, Ask)}
    assert "9.3 Mbit/s" in notes["predict"]
    assert "About as much as it gets now" in notes["faster-link"]
    assert "\n\n\n" not in predicted.notes
