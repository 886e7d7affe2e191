"""The fold over a lecture's records, and the records that commands lead to."""

from __future__ import annotations

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from tcptutor.room.lecture_state import (
    Blacked,
    Happening,
    LectureRecord,
    LectureState,
    Moved,
    Passed,
    Resumed,
    RunAsked,
    RunBegan,
    RunOver,
    clamped,
    fold,
    moved,
    run_of,
    teacher_view,
)
from tcptutor.room.protocol import Black, Go, StepBy
from tcptutor.room.slides import Lecture, Slide
from tcptutor.room.talk import LecturePlace as At
from tests.room.lectures import slide

LECTURE = Lecture(title="L", slides=(slide("one"), Slide(headline="two"), slide("three", minutes=5)))


def folded(*happenings: tuple[float, Happening]) -> LectureState:
    return reduce(fold, (LectureRecord(at=at, happening=each) for at, each in happenings), LectureState())


def after(state: LectureState, *messages: Go | StepBy | Black) -> LectureState:
    for message in messages:
        if happening := moved(state, LECTURE, message):
            state = fold(state, LectureRecord(at=state.elapsed_s, happening=happening))
    return state


def test_steps_lead_across_slides_and_back() -> None:
    state, places = LectureState(), []
    for _ in range(6):
        places.append(state.place)
        state = after(state, StepBy())
    assert places == [
        At(0, 0),
        At(0, 1),
        At(1, 0),
        At(2, 0),
        At(2, 1),
        At(2, 1),
    ]
    for expected in [
        At(2, 0),
        At(1, 0),
        At(0, 1),
        At(0, 0),
        At(0, 0),
    ]:
        state = after(state, StepBy(-1))
        assert state.place == expected


def test_a_step_on_a_black_screen_shows_the_slide_again() -> None:
    state = after(LectureState(), Black(True), StepBy())
    assert (state.place, state.is_black) == (At(), False)
    assert not after(LectureState(), Black(True), Go(At())).is_black


def test_a_command_that_changes_nothing_leaves_no_record() -> None:
    end = after(LectureState(), Go(At(2, 1)))
    assert moved(end, LECTURE, StepBy()) is None
    assert moved(end, LECTURE, Go(At(2, 1))) is None
    assert moved(end, LECTURE, Black(False)) is None


@given(st.integers(), st.integers())
def test_any_place_leads_into_the_lecture(slide_number: int, step: int) -> None:
    place = clamped(LECTURE, At(slide_number, step))
    assert 0 <= place.slide < len(LECTURE.slides)
    assert 0 <= place.step < max(1, len(LECTURE.slides[place.slide].steps))
    assert clamped(LECTURE, place) == place


@given(st.lists(st.sampled_from([StepBy(), StepBy(-1), Black(True), Black(False), Go(At(1, 7))])))
def test_no_commands_lead_out_of_the_lecture(messages: list[Go | StepBy | Black]) -> None:
    place = after(LectureState(), *messages).place
    assert clamped(LECTURE, place) == place


def test_each_live_run_of_a_slide_has_a_number_of_its_own() -> None:
    state = folded(
        (0, RunAsked(At(0), "live")),
        (0, RunOver(At(0))),
        (0, RunAsked(At(0), "prepared")),
        (0, RunOver(At(0))),
    )
    assert run_of(state, At(0)).live_runs == 1
    assert run_of(state, At(1)).live_runs == 0


def test_a_resumed_lecture_keeps_place_and_runs_and_says_which_run_was_cut() -> None:
    state = folded(
        (1, Moved(At(0, 1))),
        (2, RunAsked(At(0), "live")), (2, RunBegan(At(0), "a", "live")), (3, RunOver(At(0))),
        (4, Moved(At(2, 1))),
        (5, RunAsked(At(2), "live")), (5, RunBegan(At(2), "b", "live")),
        (6, Resumed()),
    )  # fmt: skip
    assert state.place == At(2, 1)
    assert (run_of(state, At(0)).state, run_of(state, At(0)).id) == ("ended", "a")
    assert (run_of(state, At(2)).state, run_of(state, At(2)).id) == ("failed", "b")
    assert run_of(state, At(2)).problem


def test_a_live_run_without_a_lab_counts_as_prepared() -> None:
    first = At(0)
    state = folded(
        (0, RunAsked(first, "live")),
        (0, RunOver(first)),
        (0, RunAsked(first, "prepared")),
        (0, RunOver(first)),
    )
    assert run_of(state, At(0)).source == "prepared"


def test_times_add_up_by_slide_over_several_visits() -> None:
    state = folded((10, Moved(At(1))), (15, Moved(At(0))), (16, Blacked(True)), (18, Passed()))
    assert state.slide_seconds == {0: 13, 1: 5}
    view = teacher_view(state, LECTURE, 20)
    assert (view.elapsed_s, view.slide_s, view.planned_s) == (20, 15, 60)


def test_a_clock_that_goes_back_takes_no_time_away() -> None:
    state = folded((10, Passed()), (3, Passed()), (11, Passed()))
    assert state.slide_seconds == {0: 11}
