"""Texts of the speaker's terminal about the lecture, as plain text."""

from __future__ import annotations

import textwrap
from typing import NamedTuple

from tcptutor.base.key_names import key_name
from tcptutor.figures.lines import MUTED, STRONG, WARN
from tcptutor.room.slides import (
    Answer,
    AnyStep,
    Ask,
    CurveShown,
    FigureShown,
    FlowsShown,
    Lecture,
    NetworkShown,
    OwnText,
    RunShown,
    Sentence,
    Slide,
    VerdictShown,
)
from tcptutor.room.talk import LecturePlace, PollView, RunView, TeacherView

_MOST_CHARACTERS = 60
"""Characters of a text that comes next."""


class PlanComparison(NamedTuple):
    """Elapsed time against the plan."""

    text: str
    style: str


def clock(seconds: float) -> str:
    """Format a duration like "4:05" or "1:04:05"."""
    minutes, rest = divmod(int(max(0.0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def compare_with_plan(view: TeacherView, slide: Slide) -> PlanComparison:
    """Compare the elapsed time with the plan, which gives this slide a span of time."""
    if not view.planned_s:
        return PlanComparison("", MUTED)
    begin = view.planned_s - 60 * slide.minutes
    if view.elapsed_s > view.planned_s:
        return PlanComparison(f"{clock(view.elapsed_s - view.planned_s)} behind the plan", WARN)
    if view.elapsed_s < begin:
        return PlanComparison(f"{clock(begin - view.elapsed_s)} ahead of the plan", STRONG)
    return PlanComparison("on time", MUTED)


def planned_seconds(lecture: Lecture) -> float:
    """Return the planned duration of the lecture, s; 0 without a plan."""
    return 60 * (lecture.planned_minutes or sum(slide.minutes for slide in lecture.slides))


def step_at(lecture: Lecture, place: LecturePlace) -> AnyStep | None:
    """Return the latest revealed step; None on a slide without steps."""
    steps = lecture.slides[place.slide].steps
    return steps[min(place.step, len(steps) - 1)] if steps else None


def next_step(lecture: Lecture, place: LecturePlace) -> str:
    """Describe the step that the next key reveals."""
    steps = lecture.slides[place.slide].steps
    if place.step + 1 < len(steps):
        return _words(steps[place.step + 1])
    return "next slide" if place.slide + 1 < len(lecture.slides) else "the lecture's last step"


def next_headline(lecture: Lecture, place: LecturePlace) -> str:
    """Return the headline of the next slide; empty on the last."""
    following = lecture.slides[place.slide + 1 : place.slide + 2]
    return following[0].headline if following else ""


def notes_at(lecture: Lecture, place: LecturePlace) -> str:
    """Return the notes in Markdown: of the step, then of its slide."""
    slide, step = lecture.slides[place.slide], step_at(lecture, place)
    parts = [step.notes if step is not None else "", slide.notes]
    return "\n\n---\n\n".join(part for part in parts if part)


def run_words(run: RunView) -> tuple[str, str]:
    """Return the state of the run on the slide and its style; empty without a run."""
    match run.state:
        case "none":
            return "", MUTED
        case "failed":
            prepared, again = key_name("lecture.prepared"), key_name("lecture.run")
            advice = f"{prepared} plays the prepared run" if run.has_prepared else f"{again} runs it again"
            return f"{run.problem.rstrip('.')}: {advice}", WARN
    return (
        f"{run.source}, {'stopped' if run.is_stopped else run.state}",
        STRONG if run.state == "running" else MUTED,
    )


def vote_words(poll: PollView, joined: int) -> str:
    """Return the phase of a poll, and how many have answered."""
    of = f" of {joined}" if joined >= poll.answered else ""
    answered = f"{poll.answered}{of} answered"
    number = "second vote" if poll.round == 2 else "first vote"
    match poll.phase:
        case "voting" | "voting again":
            return f"{number}, {answered}: {key_name('lecture.vote')} closes it"
        case "counted":
            return (
                f"{number} closed, {poll.answered} answered: {key_name('lecture.results')} shows the results"
            )
        case "discussing":
            return f"discussion: {key_name('lecture.vote')} opens the second vote"
    gain = f", normalized gain {poll.gain:+.2f} of those who voted twice" if poll.gain is not None else ""
    return f"results are shown{gain}"


_STEP_WORDS: dict[type[AnyStep], str] = {
    FigureShown: "a figure",
    Ask: "a question to the room",
    NetworkShown: "the network of the run",
    VerdictShown: "what limited the run",
    CurveShown: "the measured curve",
    Answer: "the answer",
    FlowsShown: "the room's flows",
}


def _words(step: AnyStep) -> str:
    match step:
        case Sentence(text=text) | OwnText(markdown=text):
            return textwrap.shorten(text.partition("\n")[0].strip("-*# "), _MOST_CHARACTERS, placeholder=" …")
        case RunShown(setting=setting):
            return f"the run, {setting}" if setting else "the run"
    return _STEP_WORDS[type(step)]
