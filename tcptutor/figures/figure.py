"""Common interface of the figures; each kind has a module in `tcptutor.figures.kinds`.

A figure is frozen data from a lesson file. It reports its own mistakes, draws itself at a width, and describes itself
in words. A moving figure has a time of its own: `Figure.motion` gives its length, and `draw` takes an instant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import msgspec

from tcptutor.figures.lettering import Lettering
from tcptutor.figures.lines import Line
from tcptutor.spec import Experiment

MIN_WIDTH = 40
"""Columns at which every figure can be drawn."""

Problem: TypeAlias = tuple[str, str]
"""Key in the figure's table, and the reason it is wrong."""

FindExperiment: TypeAlias = Callable[[str], Experiment]
"""Function from an experiment's name, or an empty name for the page's own, to the experiment.

Raises ContentError with the lesson file's name for an unknown experiment.
"""


class Motion(NamedTuple):
    """Time of a moving figure, in seconds of the shown process or in a unit of its own."""

    seconds: float
    """Length; `draw` takes instants from 0 to this."""
    stops: tuple[float, ...]
    """Instants at which something happens, increasing, to step through."""
    rest: float
    """Most telling instant, drawn while the figure is still."""
    watch: float
    """Seconds that it takes to watch at normal speed."""
    unit: str = ""
    """Unit in place of seconds, such as "round trips"."""


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Figure of a page: `[[figure]]`, placed in a text by a line `![](figure:ID)`."""

    id: str
    """Unique on the page: lower-case letters, digits and hyphens."""
    caption: str = ""
    """Line below the figure; empty for none."""

    def resolve(self, find: FindExperiment) -> Figure:  # noqa: ARG002
        """Return the figure with the experiment that it names; itself if it names none."""
        return self

    def contradiction(self) -> Problem | None:
        """Return the reason the figure cannot be drawn, or None. A page with a contradiction is not loaded."""
        return None

    def problems(self) -> Iterator[Problem]:
        """Yield the mistakes that an author should correct."""
        yield from ()

    def measured(self) -> Iterator[str]:
        """Yield the measured values that it shows, each of which the page has to claim."""
        yield from ()

    @property
    def motion(self) -> Motion | None:
        """Its time if it moves; None for a still figure."""
        return None

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        """Return its lines, at most `width` columns each; their number is the same for every `t`.

        Args:
            width: Columns, at least MIN_WIDTH.
            t: Instant of its motion, seconds; without effect on a still figure.
        """
        raise NotImplementedError

    def draw_large(self, width: int, t: float, letters: Lettering) -> list[Line]:  # noqa: ARG002
        """Return its lines with the numbers of axes in other letters; as `draw` if it has none."""
        return self.draw(width, t)

    def taller(self, rows: int) -> Figure:  # noqa: ARG002
        """Return the figure about `rows` lines higher; itself if its height means something."""
        return self

    def describe(self) -> str:
        """Describe the figure in sentences, for readers who cannot see it."""
        raise NotImplementedError
