"""Checks of a page's figures: each is placed once, fits the narrowest column, and says in words what it shows."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base.columns import wrapped
from tcptutor.base.errors import TutorError
from tcptutor.course.activity import Problem
from tcptutor.course.figure_places import placed
from tcptutor.course.lesson_file import is_slug
from tcptutor.course.step import Step
from tcptutor.figures.figure import MIN_WIDTH, Figure

_WIDTHS = (MIN_WIDTH, 72)
_MOST_LINES = 19
"""Lines that a figure may take of a terminal of 24, with its caption and the line of its player."""


def figure_problems(step: Step) -> Iterator[Problem]:
    """Yield key and reason of each mistake in the page's figures."""
    places = [id_ for text in (step.prose, step.after_run, step.published) for id_ in placed(text)]
    for figure in step.figures:
        key = f"figure {figure.id}"
        if not is_slug(figure.id):
            yield f"{key}: id", "is not a valid id: use lower-case letters, digits and hyphens"
        if places.count(figure.id) != 1:
            where = "is not placed" if figure.id not in places else "is placed more than once"
            yield key, f"{where}: write ![](figure:{figure.id}) on a line of its own, once"
        yield from ((f"{key}: {name}".rstrip(": "), reason) for name, reason in figure.problems())
        claimed = {claim.value or claim.text.strip("*") for claim in step.claims}
        for value in figure.measured():
            if value not in claimed:
                yield key, f"shows {value} as measured: claim it on the page, with the same value"
        yield from ((key, reason) for reason in _drawing_problems(figure))
        if not figure.describe().strip().endswith("."):
            yield key, "its description is not a sentence"


def _drawing_problems(figure: Figure) -> Iterator[str]:
    motion = figure.motion
    below = len(wrapped(figure.caption, _WIDTHS[-1])) + (motion is not None)
    instants = (0.0,) if motion is None else (*motion.stops, motion.rest, motion.seconds)
    for width in _WIDTHS:
        try:
            drawings = [figure.draw(width, t) for t in instants]
        except TutorError as error:
            yield f"cannot be drawn in {width} columns: {error}"
            continue
        widest = max(line.width for lines in drawings for line in lines)
        if widest > width:
            yield f"is {widest} columns wide in a column of {width}: shorten its texts"
        if len({len(lines) for lines in drawings}) > 1:
            yield f"changes its height while it moves, at {width} columns"
        if (lines := len(drawings[0]) + below) > _MOST_LINES:
            yield f"has {lines} lines at {width} columns, all included: at most {_MOST_LINES}"
