"""The stage: a slide, drawn anew for each state of the lecture and for each event of its run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.timer import Timer

from tcptutor.base.errors import JournalError
from tcptutor.base.key_names import key_name
from tcptutor.base.printable import escaped
from tcptutor.course.outline import Course
from tcptutor.figures.lines import MUTED, WARN
from tcptutor.journal.saved import Settings
from tcptutor.room.flows import FLOWS
from tcptutor.room.protocol import FromTerminal, RunBegins, RunEvent
from tcptutor.room.slide_runs import run_shown, slide_run
from tcptutor.room.slides import Ask, FlowsShown, Lecture
from tcptutor.room.talk import Talk
from tcptutor.ui.bindings import priority
from tcptutor.ui.motion import MotionChoice
from tcptutor.ui.present.lecture_screen import LectureScreen
from tcptutor.ui.present.poll_views import HistogramView, JoinView, ResultsView, VotingView
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_run import StageRun
from tcptutor.ui.present.stage_slide import StageSlide
from tcptutor.ui.present.stage_view import StageView
from tcptutor.ui.widgets.chart.line_panel import Pace
from tcptutor.ui.widgets.prose.playback import Playback
from tcptutor.ui.workers import start_worker

_DRAW_INTERVAL_S = 0.25
"""Minimum seconds between two drawings of a run."""
_FRAME_S = 0.15
"""Seconds between two frames of a figure."""
_REFUSAL_S = 5.0
"""Seconds for which the foot explains why a key had no effect."""
_ROOMY = (100, 30)
"""Columns and lines from which the stage has a margin."""
_PARTS = 4
"""Widgets of the screen."""
_ZOOMS = (-1, 0, 1)
_AS_LARGE_AS_IT_FITS = "the text here is as large as it fits"
_SMALLEST = "the text here is in its smallest size"
_DRIVING = frozenset({"step", "black", "run", "stop_run", "list", "discuss", "vote", "reveal", "end"})
"""Actions that change the lecture, which a watching terminal does not have."""


class StageScreen(LectureScreen):
    """Screen for the room. `send` sends commands to the lecture process."""

    BINDINGS: ClassVar[list[BindingType]] = [
        priority("m", "play", "play", "stage.play", "play the figure again"),
        priority("j", "join", "join", "stage.join", "show how to join, or the slide again"),
        priority("h", "answers", "answers", "stage.answers", "show the room's answers, or the slide again"),
    ]

    def __init__(
        self,
        send: Callable[[FromTerminal], object],
        motion: MotionChoice,
        settings: Settings,
        *,
        is_watching: bool = False,
        is_scaled: bool = False,
    ) -> None:
        super().__init__(send, settings)
        self._motion = motion
        self._is_watching, self._is_scaled = is_watching, is_scaled
        self._slides: StageSlide | None = None
        self._course: Course | None = None
        self._latest_run: StageRun | None = None
        self._problem = ""
        """Reason why the screen may be out of date; empty while the lecture process answers."""
        self._refusal = ""
        """Reason why the last key had no effect; empty after `_REFUSAL_S`."""
        self._hiding: Timer | None = None
        """Timer that removes the refusal."""
        self._zoom = settings.stage_zoom
        self._shows_join = self._shows_answers = False
        self._poll_key: tuple[object, ...] = ()
        """Kind and question of the poll's view."""
        self._pace = Pace(self, _DRAW_INTERVAL_S, self._update_run)
        self._is_computing = False
        self._playback: Playback | None = None
        """Motion of the figure on the slide; None for a still figure."""
        self._player: Timer | None = None

    @property
    def run(self) -> StageRun | None:
        """The run on the slide; None before its first message."""
        run = self._latest_run
        # The lecture process sends a run once: it is kept while a slide without a run is shown.
        return run if run is not None and run.id == self.talk.run.id else None

    def compose(self) -> ComposeResult:
        yield StageView("stage-head")
        yield StageView("stage-body")
        yield Container(id="stage-poll")
        yield StageView("stage-foot")

    def on_resize(self, event: events.Resize) -> None:
        super().on_resize(event)
        self.draw()

    def show_lecture(self, lecture: Lecture, course: Course, seed: str) -> None:
        """Show the slides of a lecture."""
        self.lecture, self._slides, self._course = lecture, StageSlide(lecture, course, seed), course
        self._problem, self._latest_run = "", None
        self.draw()

    def show_talk(self, talk: Talk) -> None:
        """Show the new state of the lecture."""
        before, self.talk = self.talk, talk
        if before.place != talk.place:
            self._shows_join = self._shows_answers = False
        if _progress(before) != _progress(talk):
            self._refusal = ""  # a later key did something
        if self.run is not None and talk.run.state in ("ended", "failed"):
            self.run.end()
            self._pace.request()
        if self._slides is not None and self._slides.lacks_curve(talk):
            start_worker(self, self._measure_curve, self._slides, talk, group="curve")
        if self._slides is not None and before.place != talk.place:
            motion = self._slides.motion(talk)
            self._playback = Playback.at_rest(motion) if motion is not None else None
            if before.place < talk.place:
                self.action_play()
        self.draw()

    def show_problem(self, problem: str) -> None:
        """Show in the foot why the screen may be out of date."""
        self._problem = problem
        self.draw()

    def show_refusal(self, reason: str) -> None:
        """Explain in the foot for `_REFUSAL_S` why a key had no effect."""
        if self._hiding is not None:
            self._hiding.stop()
        self._refusal = reason
        self._hiding = self.set_timer(_REFUSAL_S, self._hide_refusal) if reason else None
        self.draw()

    def begin_run(self, message: RunBegins) -> None:
        """Follow a run from its beginning."""
        planned = None
        if self._slides is not None and self._course is not None:
            slide, _ = self._slides.revealed(self.talk)
            shown = run_shown(slide, self.talk.place.step)
            planned = slide_run(self._course, slide, shown) if shown else None
        self._latest_run, self._problem = StageRun(message, planned), ""
        if self.run is not None and self.talk.run.state in ("ended", "failed"):
            self.run.end()  # a terminal that joins later hears of no other end

    def take_event(self, message: RunEvent) -> None:
        """Add an event to the run that is followed."""
        if self._latest_run is not None and message.id == self._latest_run.id:
            self._latest_run.take(message.event)
            self._pace.request()

    def draw(self) -> None:
        """Draw the slide as it is now."""
        if self._slides is None or len(self.children) < _PARTS:
            return  # while the screen is mounted or removed
        self.set_class(self.talk.is_black, "-black")
        columns, lines = self.app.size
        roomy = columns >= _ROOMY[0] and lines >= _ROOMY[1]
        self.set_class(roomy, "-roomy")
        margin, blank = (3, 1) if roomy else (1, 0)
        foot = self._foot(columns - 2 * margin)
        width, height = foot.width, lines - foot.height - 2 * blank
        head = self._canvas(width, height)
        used = self._slides.draw_headline(head, self.talk, self._zoom)
        body = self._canvas(width, height - used)
        instant = self._playback.t if self._playback is not None else None
        self._slides.draw_body(body, self.talk, self.run, self._zoom, instant)
        for id_, canvas, rows in (
            ("stage-head", head, used),
            ("stage-body", body, body.height),
            ("stage-foot", foot, foot.height),
        ):
            view = self.query_one(f"#{id_}", StageView)
            view.styles.height = rows
            view.show(canvas)
        self._show_poll()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self._is_watching and action in _DRIVING:
            return False
        return super().check_action(action, parameters)

    def action_step(self, by: int) -> None:
        if self._shows_join:
            self.action_join()
        elif self._shows_answers:
            self.action_answers()
        else:
            super().action_step(by)

    def action_join(self) -> None:
        self._shows_join = not self._shows_join
        self.draw()

    def action_play(self) -> None:
        """Play the figure from the beginning."""
        if self._playback is not None and not self._motion.off_because:
            self._playback = self._playback.rest().toggle()
            if self._player is None:
                self._player = self.set_interval(_FRAME_S, self._advance)

    def action_answers(self) -> None:
        poll = self.talk.poll
        if poll is None or poll.phase != "revealed":
            results = key_name("lecture.results")
            self.show_refusal(
                "this slide has no vote" if poll is None else f"{results} shows the results first"
            )
            return
        self._shows_answers = not self._shows_answers
        self.draw()

    def action_zoom(self, by: int) -> None:
        self._zoom = min(max(self._zoom + by, _ZOOMS[0]), _ZOOMS[-1])
        with contextlib.suppress(JournalError):  # kept for this lecture
            self.settings.set_stage_zoom(self._zoom)
        before = self._shown()
        self.draw()
        is_same = before == self._shown()
        self.show_refusal(_AS_LARGE_AS_IT_FITS if is_same and by > 0 else _SMALLEST if is_same else "")

    def _shown(self) -> list[object]:
        """Return the content of headline and body."""
        views = [self.query_one(f"#{id_}", StageView) for id_ in ("stage-head", "stage-body")]
        return [(*view.lines, *view.scaled) for view in views]

    def _hide_refusal(self) -> None:
        self.show_refusal("")

    def _advance(self) -> None:
        """Show the next frame of the figure."""
        playing = self._playback is not None and self._playback.playing and not self._motion.off_because
        if playing and self._motion.wait_for_line():
            return
        if self._playback is None or not playing:
            self._playback = self._playback.rest() if self._playback is not None else None
            if self._player is not None:
                self._player.stop()
                self._player = None
        else:
            self._playback = self._playback.advance(_FRAME_S)
        self.draw()

    def _canvas(self, width: int, height: int) -> StageCanvas:
        return StageCanvas(max(width, 1), max(height, 1), is_scaled=self._is_scaled)

    def _foot(self, width: int) -> StageCanvas:
        """Draw the foot, higher if its text needs several lines."""
        assert self._slides is not None
        foot = self._canvas(width, 2 if self._is_scaled else 1)
        number = f"{self.talk.place.slide + 1}/{len(self._slides.lecture.slides)}"
        end = width - foot.text_width(number, 1)
        left, tall = 0, foot.text_height(1)
        if self._is_watching:
            left = foot.text_width("watching", 1) + 3
        said = self._problem or self._refusal
        if said:
            lines = foot.wrap(escaped(said), end - left - 3, 1)
            foot = self._canvas(width, max(foot.height, tall * len(lines)))
            for at, line in enumerate(lines):
                foot.write(left, at * tall, line, WARN)
        elif self.talk.audience.address and not self._shows_join:
            address = self.talk.audience.address.partition("://")[2] or self.talk.audience.address
            foot.write(left, 0, f"{address}   code {self.talk.audience.code}", MUTED)
        if self._is_watching:
            foot.write(0, 0, "watching", WARN)
        foot.write(end, 0, number, MUTED)
        return foot

    def _show_poll(self) -> None:
        """Show how to join or the poll in place of the slide's body."""
        view = self._poll_view()
        poll = self.query_one("#stage-poll", Container)
        self.set_class(view is not None, "-poll")
        if view is None:
            self._poll_key = ()
            poll.remove_children()
            return
        kind, *state = view
        key = (kind, self.talk.place)
        if key == self._poll_key:
            for shown in poll.query(kind):
                shown.show(*state)
        else:
            self._poll_key = key
            poll.remove_children()
            poll.mount(kind(*state))

    def _poll_view(self) -> tuple[Any, ...] | None:
        """Return the class of the view to show instead of the slide's body, and its state; None for none."""
        assert self._slides is not None
        talk, (_, last) = self.talk, self._slides.revealed(self.talk)
        if self._shows_join:
            return JoinView, talk.audience
        poll = talk.poll
        if self._shows_answers and poll is not None and poll.phase == "revealed":
            return (ResultsView if poll.choices else HistogramView), poll
        if isinstance(last, FlowsShown) and poll is not None and poll.activity == FLOWS:
            is_asked = poll.phase in ("voting", "voting again") or talk.flows is None
            return (VotingView, poll, talk.audience) if is_asked else None
        if not isinstance(last, Ask) or poll is None or poll.activity != last.activity:
            return None
        if poll.phase != "revealed":
            return VotingView, poll, talk.audience
        return (ResultsView if poll.choices else HistogramView), poll

    async def _measure_curve(self, slides: StageSlide, talk: Talk) -> None:
        await slides.measure_curve(talk)
        self.draw()

    def _update_run(self) -> None:
        # A room experiment shows no chart, which would take long with its many flows.
        if not self._is_computing and self.talk.flows is None:
            self._is_computing = True
            start_worker(self, self._draw_run, group="run")

    async def _draw_run(self) -> None:
        run = self._latest_run
        try:
            if run is not None:
                await run.draw_scene()
        except Exception as error:  # a mistake in the analysis must not end the slides
            self._problem = f"the run cannot be drawn ({type(error).__name__}: {error})"
        finally:
            self._is_computing = False
        if run is not None and run is self.run:
            self.draw()
            if not run.is_up_to_date:
                self._pace.request()


def _progress(talk: Talk) -> tuple[object, ...]:
    """Return the state that commands can change."""
    poll = talk.poll
    return talk.place, talk.is_black, talk.run.state, poll.phase if poll is not None else None
