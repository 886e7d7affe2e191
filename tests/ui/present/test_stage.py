"""The stage: what the room sees at each place of a lecture, and the keys that drive it."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from tcptutor.course import outline
from tcptutor.course.outline import Course
from tcptutor.journal.saved import Settings
from tcptutor.room.client import Interrupted
from tcptutor.room.deck import default_lecture
from tcptutor.room.flows import FLOWS
from tcptutor.room.protocol import (
    Black,
    ClosePoll,
    CommandRefused,
    Discuss,
    EndLecture,
    Go,
    OpenPoll,
    StartRun,
    StepBy,
)
from tcptutor.room.slides import (
    Answer,
    Ask,
    CurveShown,
    FigureShown,
    FlowsShown,
    OwnText,
    RunShown,
    Sentence,
    Slide,
    VerdictShown,
)
from tcptutor.room.talk import AudienceView, LecturePlace, PollView, RunView, Tally
from tcptutor.ui import themes
from tcptutor.ui.present import large_text, stage_screen
from tcptutor.ui.present.stage_app import PresentApp
from tcptutor.ui.present.stage_view import StageView

from ..fakes import recorded
from ..moving_figure import Wagon, page_with
from ..screen import text, until, until_text
from .stand_in import RUN, StandIn
from .test_stage_flows import experiment as flows_view

PAGE = {"module": "one-flow", "page": "one-lossy-flow"}
SIZES = [(80, 24), (120, 36), (200, 50)]
MAIN = (120, 36)

TALK = Slide(
    headline="One lossy flow",
    steps=(
        Sentence(text="A loss now and then."),
        RunShown(),
        VerdictShown(),
        Ask(activity="limit"),
        Answer(activity="limit"),
    ),
    **PAGE,
)


@pytest.fixture
def lossy(course: Course) -> Any:
    page = next(step for module in course.modules for step in module.steps if step.id == PAGE["page"])
    assert page.experiment is not None
    return recorded(page.experiment.experiment)


@asynccontextmanager
async def stage(course: Course, connection: StandIn, size: tuple[int, int] = MAIN, **how: Any) -> Any:
    app = PresentApp(connection, course, settings=Settings(None), **how)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: bool(app.screen.query(StageView)) and app._stage.lecture is not None)
        await pilot.pause()
        yield pilot


def shows_large(pilot: Pilot[Any], words: str, size: Any = 3) -> bool:
    """Whether the screen shows all of `words` in block letters."""
    lines = [line.rstrip() for line in large_text.draw(words, size)]
    shown = text(pilot.app).split("\n")
    return any(
        all(line in shown[row + at] for at, line in enumerate(lines))
        for row in range(len(shown) - len(lines) + 1)
    )


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_every_step_fits_the_screen(course: Course, lossy: Any, size: tuple[int, int]) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection, size) as pilot:
        connection.play(lossy)
        for step in range(len(TALK.steps)):
            connection.show(place=LecturePlace(0, step))
            await until(pilot, lambda step=step: pilot.app._stage.talk.place.step == step)
            await pilot.pause()
            for view in pilot.app.screen.query(StageView):
                assert all(len(line.rstrip()) <= size[0] for line in view.lines)
            assert "limit" not in text(pilot.app) or step > 0


async def test_key_figures_of_a_run_are_at_least_three_cells_high(course: Course, lossy: Any) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 1))
        connection.play(lossy, until=5)
        await until_text(pilot, "throughput now")
        assert "LIVE" in text(pilot.app)
        assert "5 of" in text(pilot.app)
        connection.play(lossy, source="prepared")
        await until_text(pilot, "mean RTT")
        assert "PREPARED" in text(pilot.app)
        figures = pilot.app._stage.run.figures
        assert len(figures) == 3
        assert all(shows_large(pilot, figure.number, 5) for figure in figures)


async def test_the_verdict_compares_measurement_models_and_room(course: Course, lossy: Any) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        connection.play(lossy)
        votes = Tally(values=(8e6, 10e6, 50e6), answered=3)
        poll = PollView(activity="predict", text="", unit="rate", phase="revealed", results=(votes,))
        connection.show(place=LecturePlace(0, 2), poll=poll)
        await until_text(pilot, "the room (3)")
        assert "measured" in text(pilot.app)
        assert shows_large(pilot, "limited by random loss")


async def test_a_failed_run_leads_to_the_prepared_one(course: Course) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        failed = RunView(state="failed", problem="the lab ended", has_prepared=True)
        connection.show(place=LecturePlace(0, 1), run=failed)
        await until_text(pilot, "the lab ended: R shows the prepared run")
        await pilot.press("R")
        assert connection.sent == [StartRun("prepared")]


async def test_the_settings_are_shown_before_the_run_with_their_names_in_large_letters(
    course: Course,
) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 1))
        await until(pilot, lambda: shows_large(pilot, "random loss", 2))
        assert shows_large(pilot, "100", 5)


async def test_an_earlier_run_is_still_there_after_another_slide(course: Course, lossy: Any) -> None:
    connection = StandIn(TALK, Slide(headline="Next"))
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 1))
        connection.play(lossy)
        await until_text(pilot, "mean RTT")
        ended = connection.talk.run
        connection.show(place=LecturePlace(1), run=RunView())
        await until(pilot, lambda: shows_large(pilot, "Next", 5))
        connection.show(place=LecturePlace(0, 1), run=ended)
        await until_text(pilot, "mean RTT")


async def test_a_room_experiment_asks_runs_and_shows_who_gets_what(course: Course, lossy: Any) -> None:
    connection = StandIn(Slide(headline="Who gets what?", steps=(FlowsShown(experiment="one-flow/lossy"),)))
    async with stage(course, connection) as pilot:
        await until(pilot, lambda: shows_large(pilot, "BBR"))
        pick = PollView(activity=FLOWS, text="Pick one.", choices=("reno", "cubic", "bbr"), answered=7)
        connection.show(poll=pick)
        await until(pilot, lambda: shows_large(pilot, "Pick one."))
        connection.show(poll=replace(pick, phase="counted"), flows=flows_view(10, state="ready"))
        await until_text(pilot, "Reno, 10 of 30 flows")
        connection.play(lossy)
        connection.show(flows=flows_view(10))
        await until(pilot, lambda: shows_large(pilot, "75 %", 5))
        assert "LIVE" in text(pilot.app)
        connection.show(poll=replace(pick, phase="voting again", round=2))
        await until(pilot, lambda: shows_large(pilot, "Pick one."))


async def test_texts_come_one_by_one(course: Course) -> None:
    slide = Slide(
        headline="Own", steps=(OwnText(markdown="- **first** point"), OwnText(markdown="- second point"))
    )
    connection = StandIn(slide)
    async with stage(course, connection) as pilot:
        await until(pilot, lambda: shows_large(pilot, "first point"))
        assert not shows_large(pilot, "second point")
        connection.show(place=LecturePlace(0, 1))
        await until(pilot, lambda: shows_large(pilot, "second point"))
        assert shows_large(pilot, "first point")
        await pilot.press("minus")
        await until_text(pilot, "second point")


async def test_a_vote_shows_only_how_many_have_answered(course: Course) -> None:
    connection = StandIn(TALK)
    poll = PollView(activity="limit", text="What limits it?", choices=("The link", "The loss"), answered=7)
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 3), poll=poll, audience=AudienceView(joined=9))
        await until(pilot, lambda: shows_large(pilot, "of 9 answered", 2))
        results = (Tally(counts=(3, 4), answered=7, right=4),) * 2
        connection.show(
            poll=PollView(
                activity="limit",
                text="",
                choices=("The link", "The loss"),
                phase="revealed",
                results=results,
                right=1,
            )
        )
        await until_text(pilot, "The loss ✓")


async def test_the_answer_follows_the_vote(course: Course) -> None:
    connection = StandIn(TALK)
    poll = PollView(
        activity="limit",
        text="?",
        choices=("The link", "Random loss"),
        phase="revealed",
        right=1,
        why_popular_wrong="It was idle.",
    )
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 4), poll=poll)
        await until(pilot, lambda: shows_large(pilot, "It was idle."))
        assert shows_large(pilot, "Random loss")


async def test_keys_and_presenter_remotes(course: Course) -> None:
    connection = StandIn(TALK, Slide(headline="Next"))
    async with stage(course, connection) as pilot:
        for key in ("pagedown", "right", "space", "enter", "n", "pageup", "left", "p"):
            await pilot.press(key)
        assert connection.sent == [*[StepBy(1)] * 5, *[StepBy(-1)] * 3]
        connection.sent.clear()
        for key in ("b", "full_stop", "r", "v", "d", "s"):
            await pilot.press(key)
        assert connection.sent == [
            Black(True), Black(True), Go(LecturePlace(0, 1)), StartRun("live"), OpenPoll(), Discuss(),
            ClosePoll(reveal=True),
        ]  # fmt: skip
        connection.sent.clear()
        await pilot.press("g", "2", "enter")
        await pilot.press("e")
        await until_text(pilot, "End the lecture?")
        assert connection.sent == [Go(LecturePlace(1))]
        await pilot.press("y")
        await until(pilot, lambda: connection.sent[-1] == EndLecture())


async def test_a_black_screen_shows_nothing(course: Course) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        connection.show(is_black=True)
        await until(pilot, lambda: not text(pilot.app).strip())
        connection.show(is_black=False)
        await until(pilot, lambda: shows_large(pilot, "One lossy flow"))


async def test_the_rooms_predictions_are_shown_next_to_the_run_on_a_key(course: Course) -> None:
    connection = StandIn(TALK)
    votes = Tally(values=(8e6, 10e6, 50e6), answered=3)
    poll = PollView(
        activity="predict", text="", unit="rate", phase="revealed", results=(votes,), measured=9e6
    )
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 2))
        await pilot.press("h")
        await until_text(pilot, "this slide has no vote")
        connection.show(poll=replace(poll, phase="counted", results=()))
        await pilot.pause()
        await pilot.press("h")
        await until_text(pilot, "s shows the results first")
        connection.show(poll=poll)
        await pilot.pause()
        await pilot.press("h")
        await until_text(pilot, "3 answers, 0 within 10 % of the measurement")
        await pilot.press("right")
        assert connection.sent == []
        await until(pilot, lambda: "3 answers" not in text(pilot.app))


async def test_a_watching_terminal_names_itself_next_to_the_address(course: Course) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection, is_watching=True) as pilot:
        connection.show(audience=AudienceView(address="http://10.0.0.1:8077/KX7R4T", code="KX7R4T"))
        await until_text(pilot, "watching   10.0.0.1:8077/KX7R4T")


async def test_a_watching_terminal_changes_nothing(course: Course) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection, is_watching=True) as pilot:
        await until_text(pilot, "watching")
        for key in ("right", "b", "r", "R", "x", "v", "d", "s", "g", "e", "plus", "t"):
            await pilot.press(key)
        assert connection.sent == []


async def test_a_lost_connection_is_named_until_it_is_back(course: Course) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        connection.say(Interrupted("the lecture process does not answer"))
        await until_text(pilot, "does not answer")
        again = StandIn(TALK)
        connection.say(again._messages.get_nowait(), again._messages.get_nowait())
        await until(pilot, lambda: "does not answer" not in text(pilot.app))


async def test_a_terminal_that_scales_text_gets_it_over_blank_cells(course: Course) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection, scales_text=True) as pilot:
        await until(pilot, lambda: any(view.scaled for view in pilot.app.screen.query(StageView)))
        written = pilot.app._scaled_text()
        assert "\x1b]66;s=3;One lossy flow\x07" in written
        head = pilot.app.screen.query_one("#stage-head", StageView)
        place = head.scaled[0]
        assert not head.lines[place.row][place.column : place.column + place.width].strip()
        row, column = head.region.y + place.row + 1, head.region.x + place.column + 1
        assert f"\x1b[{row};{column}H" in written
        # Labels are two cells high.
        assert re.search(r"\x1b\]66;s=2;1/1\x07", written)


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_a_run_on_the_stage(snap_compare: Any, course: Course, lossy: Any, theme: str) -> None:
    connection = StandIn(TALK)
    app = PresentApp(connection, course, settings=Settings(None))

    async def ready(pilot: Pilot[Any]) -> None:
        app.theme = themes.LOOKS[theme].theme.name
        connection.show(place=LecturePlace(0, 1))
        connection.play(lossy)
        await until_text(pilot, "mean RTT")
        await pilot.pause()

    assert snap_compare(app, terminal_size=MAIN, run_before=ready)


async def test_curve_of_a_sweep_is_measured_from_recordings() -> None:
    course = outline.load()
    lecture, place = default_lecture(course, "parallel-streams/the-whole-curve")
    slide = lecture.slides[place.slide]
    step = next(number for number, each in enumerate(slide.steps) if isinstance(each, CurveShown))
    connection = StandIn(slide)
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, step))
        await until_text(pilot, "PREPARED")
        assert "knee of the runs at 10" in text(pilot.app)
        assert shows_large(pilot, "16")


async def test_a_figure_plays_when_it_is_revealed_and_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_MOTION")
    course = page_with(Wagon(id="wagon", watch=0.5))
    page = course.modules[0].steps[0]
    slide = Slide(
        headline="A wagon",
        steps=(Sentence(text="Watch."), FigureShown(figure="wagon")),
        module=course.modules[0].id,
        page=page.id,
    )
    connection = StandIn(slide)
    seen = set()
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 1))

        def rests() -> bool:
            seen.update(re.findall(r"wagon at (\d+)", text(pilot.app)))
            return len(seen) > 2 and "wagon at 20" in text(pilot.app)

        await until(pilot, rests)
        monkeypatch.setenv("NO_MOTION", "1")


async def test_a_lecture_opens_with_its_title_in_the_largest_letters(course: Course) -> None:
    connection = StandIn(Slide(headline="TCP", steps=(Sentence(text="A course"), OwnText(markdown="- one"))))
    async with stage(course, connection) as pilot:
        await until(pilot, lambda: shows_large(pilot, "TCP", 5))
        assert "A course" in text(pilot.app)
        connection.show(place=LecturePlace(0, 1))
        await until(pilot, lambda: shows_large(pilot, "TCP") and shows_large(pilot, "one"))


async def test_r_goes_to_a_run_only_if_it_comes_next(course: Course) -> None:
    connection = StandIn(replace(TALK, steps=(Sentence(text="A story."), *TALK.steps)))
    async with stage(course, connection) as pilot:
        await pilot.press("r")
        connection.show(place=LecturePlace(0, 1))
        await pilot.pause()
        await pilot.press("r")
        assert connection.sent == [StartRun("live"), Go(LecturePlace(0, 2)), StartRun("live")]


async def test_the_foot_says_for_a_while_why_a_key_did_nothing(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_screen, "_REFUSAL_S", 0.3)
    connection = StandIn(TALK)
    async with stage(course, connection, (80, 24)) as pilot:
        address = AudienceView(address="http://192.0.2.1:8022/ABC", code="ABC")
        connection.show(audience=address)
        connection.say(CommandRefused("a vote is open and nobody has answered: v closes it " * 2))
        await until_text(pilot, "nobody has answered")
        assert "192.0.2.1" not in text(pilot.app)
        assert "One lossy flow" in text(pilot.app) or shows_large(pilot, "One lossy flow")
        await until(pilot, lambda: "nobody has answered" not in text(pilot.app))
        assert "192.0.2.1" in text(pilot.app)
        monkeypatch.setattr(stage_screen, "_REFUSAL_S", 60)
        connection.say(CommandRefused("there is no run on this slide yet"))
        await until_text(pilot, "no run on this slide")
        connection.show(place=LecturePlace(0, 1))
        await until(pilot, lambda: "no run on this slide" not in text(pilot.app))


async def test_a_stopped_run_says_when_it_was_stopped(course: Course, lossy: Any) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 1))
        connection.play(lossy, until=5)
        await until_text(pilot, "throughput now")
        connection.show(run=RunView(state="ended", id=RUN, is_stopped=True))
        await until_text(pilot, "stopped at 5 of")


async def test_a_run_that_was_stopped_early_has_no_figures_of_now(course: Course, lossy: Any) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 1))
        connection.play(lossy, until=1)
        await until_text(pilot, "throughput now")
        connection.show(run=RunView(state="ended", id=RUN, is_stopped=True))
        await until(pilot, lambda: " now" not in text(pilot.app))
        assert "throughput at its end" in text(pilot.app)


@pytest.mark.parametrize("is_watching", [False, True])
async def test_leaving_says_how_to_come_back_while_the_lecture_goes_on(
    course: Course, is_watching: bool
) -> None:
    connection = StandIn(TALK)
    async with stage(course, connection, is_watching=is_watching) as pilot:
        await pilot.resize_terminal(60, 20)
        await until_text(pilot, "lecture goes on meanwhile")
        await pilot.press("ctrl+q")
        assert f"present --{'watch' if is_watching else 'resume'}" in str(pilot.app._exit_renderables)
    connection = StandIn(TALK)
    async with stage(course, connection, is_watching=is_watching) as pilot:
        connection.say(Interrupted("the lecture process does not answer"))
        await until_text(pilot, "does not answer")
        await pilot.press("ctrl+q")
        assert not pilot.app._exit_renderables


async def test_a_later_terminal_has_the_ground_and_the_size_of_text_of_the_first(course: Course) -> None:
    settings = Settings(None)
    settings.set_theme("dark")
    looks = []
    for keys in (("t", "minus"), ()):
        app = PresentApp(StandIn(TALK), course, settings=settings)
        async with app.run_test(size=MAIN) as pilot:
            await until(pilot, lambda app=app: app._stage.lecture is not None)
            await pilot.press(*keys)
            await pilot.pause()
            looks.append((app.current_theme.dark, app._stage._zoom))
    assert looks == [(False, -1)] * 2
    assert settings.theme == "dark", "the teacher's own app keeps its ground"


async def test_text_that_cannot_grow_says_so(course: Course) -> None:
    slide = Slide(headline="Own", steps=(OwnText(markdown="- a point"), OwnText(markdown="- another")))
    connection = StandIn(slide)
    async with stage(course, connection) as pilot:
        connection.show(place=LecturePlace(0, 1))
        await until(pilot, lambda: shows_large(pilot, "another"))
        await pilot.press("plus")
        await until(pilot, lambda: shows_large(pilot, "another", 5))
        assert "as large as it fits" not in text(pilot.app)
        await pilot.press("plus")
        await until_text(pilot, "as large as it fits")
        await pilot.press("minus")
        await until(pilot, lambda: "as large as it fits" not in text(pilot.app))
