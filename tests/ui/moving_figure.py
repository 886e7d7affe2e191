"""A figure that moves, and a page with it."""

from __future__ import annotations

import msgspec

from tcptutor.course import Course
from tcptutor.course.activity import Activity
from tcptutor.figures.figure import Figure, Motion
from tcptutor.figures.lines import DATA, FRAME, TEXT, Line

from .made import one_page

SECONDS = 0.04
STOPS = (0.0, 0.01, 0.02, 0.03)


class Wagon(Figure, frozen=True, kw_only=True, tag_field="kind", tag="wagon"):
    """A wagon that goes from left to right, with the instant in a line above it."""

    watch: float = 2.0

    @property
    def motion(self) -> Motion:
        return Motion(SECONDS, STOPS, STOPS[2], self.watch)

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        at = round((width - 1) * t / SECONDS)
        track = Line.of(("─" * at, FRAME), ("█", DATA), ("─" * (width - 1 - at), FRAME))
        return [Line.of((f"wagon at {1000 * t:.0f}", TEXT)), track]

    def describe(self) -> str:
        return "A wagon passes."


class Tower(Figure, frozen=True, kw_only=True, tag_field="kind", tag="tower"):
    """A tall figure that stands still, with a number on every line."""

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        return [Line.of((f"floor {11 - row}", TEXT)) for row in range(12)]

    def describe(self) -> str:
        return "A tower."


def page_with(*figures: Figure, above: str = "Watch.", activities: tuple[Activity, ...] = ()) -> Course:
    """A page with the figures below a text."""
    course = one_page(*activities)
    step = course.modules[0].steps[0]
    places = "\n\n".join(f"![](figure:{figure.id})" for figure in figures)
    step = msgspec.structs.replace(step, prose=f"{above}\n\n{places}", figures=figures)
    module = msgspec.structs.replace(course.modules[0], steps=(step,))
    return msgspec.structs.replace(course, modules=(module,))
