"""The table `[[claim]]` of a page: words in the text, and the quantity they state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from tcptutor.course.activity import Setting

KnownSubject = Literal[
    "mathis",
    "link",
    "window",
    "mean-window",
    "bdp",
    "queue-delay",
    "segment",
    "padhye",
    "binding",
    "arithmetic",
    "published",
]
"""Quantities known before a run."""

MeasuredSubject = Literal[
    "throughput",
    "rtt",
    "min-rtt",
    "max-rtt",
    "utilization",
    "idle",
    "losses",
    "retransmissions",
    "loss-rate",
    "timeouts",
    "queue-drops",
    "marks",
    "cwnd",
    "max-cwnd",
    "max-flight",
    "app-limited",
    "sndbuf-limited",
    "rwnd-limited",
    "jain",
    "cov",
    "cov-between",
    "share",
    "first-loss",
    "slow-start-end",
    "completion",
    "message-time",
    "udp-rate",
    "udp-loss",
    "udp-jitter",
    "udp-out-of-order",
    "limited-by",
]
"""Quantities only a run can provide."""

Subject = Literal[KnownSubject, MeasuredSubject]

CAUSE: Subject = "limited-by"
"""Subject with a name as its value."""

ARITHMETIC: Subject = "arithmetic"
"""Subject without an experiment: `formula` gives the calculation."""


PUBLISHED: Subject = "published"
"""Subject without an experiment: `source` names the entry of assets/published."""


class Denominator(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Denominator of a claimed ratio: a second run or flow."""

    experiment: str = ""
    """Experiment of the second run; by default the claim's."""
    set: dict[str, Setting] = {}
    """Overrides the settings of `experiment` if given, otherwise the claim's."""
    flow: int | None = None
    """Flow of the second value, from 1."""
    quantity: Subject | None = None
    """Defaults to the claim's own subject."""


class RunCondition(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Statement about a quantity of a run."""

    quantity: Subject
    """Measured quantity, or result of a formula."""
    value: str = ""
    """Number with its unit, or name of a cause."""
    tolerance: str = ""
    """Tolerance for chance: a share, "20 %", or an amount, "0.2 s". Defaults to the rounding of the number.
    """
    relation: Literal["about", "above", "below"] = "about"
    """Whether the value is met, exceeded, or not reached."""
    flow: int | None = None
    """Counted from 1, as in the chart; by default the sum of all flows."""
    start: str = ""
    """Start of the measured period since the traffic began; defaults to the end of the warm-up."""
    end: str = ""
    """End of the measured period; defaults to the end of the run."""
    set: dict[str, Setting] = {}
    """Overrides the page's settings, on the page of a sweep to select a value of its axis."""
    ratio_to: Denominator | None = None
    """Denominator; the value is then a plain number, "1.8"."""

    @property
    def stated_value(self) -> str:
        """Number with its unit, or name of a cause."""
        return self.value

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Quantities needed to check the condition, without repetition."""
        return tuple(
            dict.fromkeys(
                (self.quantity, (self.ratio_to.quantity if self.ratio_to else None) or self.quantity)
            )
        )


class Claim(RunCondition, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Statement about a run or a formula: `[[claim]]`."""

    text: str
    """Exact words on the page, which are also the value by default."""
    experiment: str = ""
    """Experiment to use instead of the page's, short or full name; `set` then overrides its settings."""
    seeds: int = 2
    """Number of runs, each with its own seed, that must agree."""
    formula: str = ""
    """For `arithmetic`: an expression in base units (bytes, s, bit/s, ratio), such as "128 KiB * 8 / 40 ms".
    """
    source: str = ""
    """For `published`: entry in base units, as "lab09_parallel_streams: result.2.throughput.receiver"; of a list any.
    """

    @property
    def stated_value(self) -> str:
        return self.value or self.text

    @property
    def may_precede_run(self) -> bool:
        """True if the claim may appear before the page's run because it is independent of it."""
        return bool(self.experiment or self.set) or self.quantity in KNOWN_SUBJECTS


KNOWN_SUBJECTS: frozenset[str] = frozenset(KnownSubject.__args__)  # type: ignore[attr-defined]
MEASURED_SUBJECTS: frozenset[str] = frozenset(MeasuredSubject.__args__)  # type: ignore[attr-defined]


class PageSetup(NamedTuple):
    """Experiment and settings of a page, for the claims about it."""

    name: str
    """Full name of the experiment."""
    settings: Mapping[str, Setting]
    """Overrides set by the page."""
    columns: Mapping[str, tuple[Setting, ...]] = {}
    """For a sweep: the values of its axis, and of the parameters that change with it, matched by index."""

    def with_overrides(self, settings: Mapping[str, Setting]) -> dict[str, Setting]:
        """Return the page's settings with `settings` on top.

        A value of a sweep's axis also selects the parameters that change with it.
        """
        along: dict[str, Setting] = {}
        axis = next(iter(self.columns), "")
        values = [str(value) for value in self.columns.get(axis, ())]
        if (at := str(settings.get(axis, ""))) in values:
            along = {name: column[values.index(at)] for name, column in self.columns.items()}
        return {**self.settings, **along, **settings}
