"""Time that a page takes: its words, answers and runs. Computed, never stored in lesson files.

The constants are typical values of a student who works through the page once, without hints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tcptutor.course.figure_places import without_figures

if TYPE_CHECKING:
    from tcptutor.course.activity import Question
    from tcptutor.course.step import Step

WORDS_A_MINUTE = 200
"""Reading speed for text that explains."""
QUESTION_S = 20.0
"""Seconds to decide on an answer after reading the question and its choices."""
PREDICTION_S = 40.0
"""Seconds to work out a prediction."""
RUN_S = 10.0 + 20.0
"""Seconds to wait for a run, and to look at its chart. `assets/documentation/pages.md` has the waits."""
SWEEP_S = 25.0 + 30.0
"""The same for a sweep."""
CHALLENGE_S = 240.0
"""Seconds for the runs of a challenge."""
GOAL_S = 45.0
"""Seconds to type the commands that reach a goal by hand."""
FAULT_S = 240.0
"""Seconds to find a fault, before the goals."""

_SECONDS = {
    "question": QUESTION_S,
    "predict": PREDICTION_S,
    "experiment": RUN_S,
    "sweep": SWEEP_S,
    "challenge": CHALLENGE_S,
}
"""By table of the lesson file."""


def seconds(step: Step) -> float:
    """Return the time that a page takes, s."""
    return _reading_seconds(_texts(step)) + sum(map(_activity_seconds, step.activities))


def question_seconds(question: Question) -> float:
    """Return the time to read and answer a question without its page, s."""
    return _reading_seconds(_activity_texts(question)) + QUESTION_S


def minutes(step: Step) -> int:
    """Return the time that a page takes, min, at least 1."""
    return max(1, round(seconds(step) / 60))


def total_minutes(steps: Iterable[Step]) -> int:
    """Return the total time of pages, min, rounded up to 5 min; 0 for no pages."""
    return 5 * math.ceil(sum(map(seconds, steps)) / 300)


def in_words(minutes: int) -> str:
    """Return "45 min", "2 h", "2 h 05"."""
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest:02}" if rest else f"{hours} h"


def _texts(step: Step) -> Iterator[str]:
    yield from (step.title, step.subtitle, *map(without_figures, (step.prose, step.after_run)))
    for activity in step.activities:
        yield from _activity_texts(activity)


def _activity_texts(activity: Any) -> Iterator[str]:
    yield from (getattr(activity, "prompt", ""), activity.explanation)
    yield from (entry.text for entry in (*_part(activity, "choices"), *_part(activity, "events")))


def _reading_seconds(texts: Iterable[str]) -> float:
    return 60 * sum(len(re.findall(r"\w\S*", text)) for text in texts) / WORDS_A_MINUTE


def _activity_seconds(activity: Any) -> float:
    if activity.table == "shell":
        return GOAL_S * len(activity.goals) + (FAULT_S if activity.fault else 0)
    return _SECONDS.get(activity.table, QUESTION_S)


def _part(activity: Any, name: str) -> tuple[Any, ...]:
    return getattr(activity, name, ())
