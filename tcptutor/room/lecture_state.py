"""State of a lecture as a pure fold over its records, and the records that commands produce.

Records are absolute, so that a damaged record affects no other record: `Moved` holds a place, never a direction.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec
from msgspec.structs import replace

from tcptutor.room.protocol import Black, ClosePoll, Discuss, FromTerminal, Go, OpenPoll, StepBy
from tcptutor.room.slides import AnyStep, Ask, FlowsShown, Lecture, RunShown, Slide
from tcptutor.room.talk import LecturePlace, RunSource, RunState, RunView, Talk, TeacherView

INTERRUPTED = "the lecture process ended during it"
"""Problem of a run that a killed lecture process left unfinished."""


class Moved(msgspec.Struct, frozen=True, tag=True):
    """Move to a place."""

    place: LecturePlace


class Blacked(msgspec.Struct, frozen=True, tag=True):
    """Switch to the black screen or back to the slide."""

    on: bool


class RunAsked(msgspec.Struct, frozen=True, tag=True):
    """Start of a run, which has no id before the lab is ready."""

    shown: LecturePlace
    """Slide, and the step that shows the run."""
    source: RunSource


class RunBegan(msgspec.Struct, frozen=True, tag=True):
    """Arrival of the first event of a run."""

    shown: LecturePlace
    id: str
    source: RunSource
    """Actual source: a live run without a lab becomes a prepared run."""


class RunOver(msgspec.Struct, frozen=True, tag=True):
    """End of a run; `problem` is the reason for a failure."""

    shown: LecturePlace
    problem: str = ""
    is_stopped: bool = False
    """True if the teacher stopped it."""


class Polled(msgspec.Struct, frozen=True, tag=True):
    """Command on a question; its effect is in the log of the votes."""

    command: OpenPoll | ClosePoll | Discuss


class FlowsPlanned(msgspec.Struct, frozen=True, tag=True):
    """Plan of the students' flows as an experiment."""

    shown: LecturePlace
    plan: msgspec.Raw
    """A `room.flows.FlowsPlan`, encoded: a resumed lecture shows its slide before it reads plans."""


class FlowsAsked(msgspec.Struct, frozen=True, tag=True):
    """Start of a vote on flows, which discards the earlier plan and run."""

    shown: LecturePlace


class Passed(msgspec.Struct, frozen=True, tag=True):
    """Passage of time without other changes."""


class Resumed(msgspec.Struct, frozen=True, tag=True):
    """Takeover by a new lecture process after the earlier process has ended."""


class Over(msgspec.Struct, frozen=True, tag=True):
    """End of the lecture by the teacher."""


Happening: TypeAlias = (
    Moved
    | Blacked
    | RunAsked
    | RunBegan
    | RunOver
    | Polled
    | FlowsPlanned
    | FlowsAsked
    | Passed
    | Resumed
    | Over
)


class LectureRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Line of the lecture's log."""

    at: Annotated[float, msgspec.Meta(ge=0, lt=1e7)]
    """Seconds of the lecture so far, without pauses of the lecture process."""
    happening: Happening


class ShownRun(msgspec.Struct, frozen=True, kw_only=True):
    """Latest run of a step."""

    source: RunSource = "live"
    state: RunState = "none"
    id: str = ""
    problem: str = ""
    is_stopped: bool = False
    live_runs: int = 0
    """Live runs of the step so far: each takes the next seed."""


class LectureState(msgspec.Struct, frozen=True, kw_only=True):
    """Complete state of a lecture, derived from its records."""

    place: LecturePlace = LecturePlace()
    is_black: bool = False
    runs: dict[LecturePlace, ShownRun] = {}
    """Latest run by the place of the step that shows it."""
    plans: dict[LecturePlace, msgspec.Raw] = {}
    """Latest plan of a room experiment by the place of its step."""
    slide_seconds: dict[int, float] = {}
    """Seconds on each slide, by index of the slide."""
    elapsed_s: float = 0.0
    is_over: bool = False


def fold(state: LectureState, record: LectureRecord) -> LectureState:
    """Return the state after `record`."""
    state = _advance(state, record.at)
    match record.happening:
        case Moved(place=place):
            state = replace(state, place=place, is_black=False)
        case Blacked(on=on):
            state = replace(state, is_black=on)
        case RunAsked(shown=shown, source=source):
            number = run_of(state, shown).live_runs + (source == "live")
            state = _with_run(state, shown, ShownRun(source=source, state="starting", live_runs=number))
        case RunBegan(shown=shown, id=id_, source=source):
            run = replace(run_of(state, shown), state="running", id=id_, source=source)
            state = _with_run(state, shown, run)
        case RunOver(shown=shown, problem=problem, is_stopped=is_stopped):
            ended: RunState = "failed" if problem else "ended"
            run = replace(run_of(state, shown), state=ended, problem=problem, is_stopped=is_stopped)
            state = _with_run(state, shown, run)
        case Resumed():
            runs = {shown: _interrupted(run) for shown, run in state.runs.items()}
            state = replace(state, runs=runs)
        case FlowsPlanned(shown=shown, plan=plan):
            state = replace(state, plans={**state.plans, shown: plan})
        case FlowsAsked(shown=shown):
            plans = {at: plan for at, plan in state.plans.items() if at != shown}
            state = replace(state, plans=plans)
            state = _with_run(state, shown, ShownRun(live_runs=run_of(state, shown).live_runs))
        case Over():
            state = replace(state, is_over=True)
        case Polled() | Passed():
            pass
    return state


def clamped(lecture: Lecture, place: LecturePlace) -> LecturePlace:
    """Return the place, or the nearest place in the lecture."""
    slide = min(max(place.slide, 0), len(lecture.slides) - 1)
    return LecturePlace(slide, min(max(place.step, 0), last_step(lecture.slides[slide])))


def last_step(slide: Slide) -> int:
    """Return the number of steps after the first."""
    return max(0, len(slide.steps) - 1)


def shown_run(lecture: Lecture, place: LecturePlace) -> LecturePlace | None:
    """Return the step with the run on screen at `place`; None before the slide's first run."""
    return _latest(lecture, place, (RunShown, FlowsShown))


def question_of(lecture: Lecture, place: LecturePlace) -> LecturePlace | None:
    """Return the step with the question on screen at `place`; None before the slide's first question."""
    return _latest(lecture, place, (Ask, FlowsShown))


def moved(state: LectureState, lecture: Lecture, message: FromTerminal) -> Happening | None:
    """Return the record for a navigation command; None for a command without effect.

    On a black screen `StepBy` shows the slide again, so that no step is skipped unseen.
    """
    match message:
        case Black(on=on) if on != state.is_black:
            return Blacked(on)
        case StepBy() if state.is_black:
            return Blacked(False)
        case StepBy(by=by):
            place = _next(lecture, state.place, by)
        case Go(place=wanted):
            place = clamped(lecture, wanted)
        case _:
            return None
    return Moved(place) if place != state.place or state.is_black else None


def run_of(state: LectureState, shown: LecturePlace | None) -> ShownRun:
    """Return the latest run of a step, or an empty `ShownRun`."""
    return state.runs.get(shown, ShownRun()) if shown is not None else ShownRun()


def talk_of(state: LectureState, lecture: Lecture, *, has_prepared: bool = False) -> Talk:
    """Return the state of the screen, without votes and room experiments."""
    run = run_of(state, shown_run(lecture, state.place))
    return Talk(
        place=state.place,
        is_black=state.is_black,
        run=RunView(
            state=run.state,
            source=run.source,
            id=run.id,
            problem=run.problem,
            is_stopped=run.is_stopped,
            has_prepared=has_prepared,
        ),
    )


def teacher_view(state: LectureState, lecture: Lecture, now: float) -> TeacherView:
    """Return the times of the speaker's view at `now` seconds of the lecture."""
    state = _advance(state, now)
    slides = lecture.slides[: state.place.slide + 1]
    return TeacherView(
        elapsed_s=state.elapsed_s,
        slide_s=state.slide_seconds.get(state.place.slide, 0.0),
        planned_s=60 * sum(slide.minutes for slide in slides),
    )


def _latest(lecture: Lecture, place: LecturePlace, kinds: tuple[type[AnyStep], ...]) -> LecturePlace | None:
    steps = lecture.slides[place.slide].steps[: place.step + 1]
    found = [number for number, step in enumerate(steps) if isinstance(step, kinds)]
    return LecturePlace(place.slide, found[-1]) if found else None


def _advance(state: LectureState, now: float) -> LectureState:
    passed = max(0.0, now - state.elapsed_s)
    if state.is_over or not passed:
        return state
    slide = state.place.slide
    seconds = {**state.slide_seconds, slide: state.slide_seconds.get(slide, 0.0) + passed}
    return replace(state, elapsed_s=now, slide_seconds=seconds)


def _with_run(state: LectureState, shown: LecturePlace, run: ShownRun) -> LectureState:
    return replace(state, runs={**state.runs, shown: run})


def _interrupted(run: ShownRun) -> ShownRun:
    if run.state not in ("starting", "running"):
        return run
    return replace(run, state="failed", problem=INTERRUPTED)


def _next(lecture: Lecture, place: LecturePlace, by: int) -> LecturePlace:
    step = place.step + by
    if 0 <= step <= last_step(lecture.slides[place.slide]):
        return LecturePlace(place.slide, step)
    slide = place.slide + by
    if not 0 <= slide < len(lecture.slides):
        return place
    return LecturePlace(slide, 0 if by > 0 else last_step(lecture.slides[slide]))
