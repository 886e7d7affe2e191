"""The table `[[claim]]` of a page: the words, and what they are of."""

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
]
"""What is known before a run."""

MeasuredSubject = Literal[
    "throughput",
    "rtt",
    "min-rtt",
    "max-rtt",
    "used",
    "idle",
    "losses",
    "sent-again",
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
    "udp-rate",
    "udp-loss",
    "udp-jitter",
    "udp-out-of-order",
    "limited-by",
]
"""What only a run can tell."""

Subject = Literal[KnownSubject, MeasuredSubject]

CAUSE: Subject = "limited-by"
"""The subject whose value is a name."""

ARITHMETIC: Subject = "arithmetic"
"""The subject that is of no experiment: `formula` says what is worked out."""


class Per(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`per`: the claim is a ratio to what another run, or another flow, has of it."""

    experiment: str = ""
    set: dict[str, Setting] = {}
    """Over the claim's own settings; over those of `experiment` where that is given."""
    flow: int | None = None
    of: Subject | None = None
    """By default the claim's own."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[[claim]]`"""

    text: str
    """The words, exactly as they stand on the page."""
    of: Subject
    value: str = ""
    """The number with its unit, or the name of a cause; by default the text is that."""
    within: str = ""
    """A share, "20 %", or an amount, "0.2 s", by which chance may move a run. By default what rounding makes."""
    relation: Literal["about", "above", "below"] = "about"
    flow: int | None = None
    """Counted from 1, as the chart's lines are; by default all flows together."""
    start: str = ""
    """From when on, since the traffic began; by default from the end of the warm-up."""
    end: str = ""
    """Until when; by default to the end of the run."""
    experiment: str = ""
    """Another experiment than the page's, short or full name."""
    set: dict[str, Setting] = {}
    """Over the page's settings; over those of `experiment` where that is given."""
    per: Per | None = None
    """The value is then a plain number, "1.8"."""
    seeds: int = 2
    """So many runs, each with a seed of its own, have to agree."""
    formula: str = ""
    """For `arithmetic`: such as "128 KiB * 8 / 40 ms", in base units (bytes, s, bit/s, ratio)."""

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """What has to be known for it, once each."""
        return tuple(dict.fromkeys((self.of, (self.per.of if self.per else None) or self.of)))

    @property
    def anywhere(self) -> bool:
        """Whether it may stand before the page's run: it tells nothing of that."""
        return bool(self.experiment or self.set) or self.of in KNOWN_SUBJECTS


KNOWN_SUBJECTS: frozenset[str] = frozenset(KnownSubject.__args__)  # type: ignore[attr-defined]
MEASURED_SUBJECTS: frozenset[str] = frozenset(MeasuredSubject.__args__)  # type: ignore[attr-defined]


class PageSetup(NamedTuple):
    """What a page runs, for claims that are of it."""

    name: str
    """Full name of the experiment."""
    settings: Mapping[str, Setting]
    """What the page sets over it."""
    columns: Mapping[str, tuple[Setting, ...]] = {}
    """Of a sweep: the values of its axis, and those of the parameters that go along with it, n-th with n-th."""

    def over(self, settings: Mapping[str, Setting]) -> dict[str, Setting]:
        """All that is set where `settings` come over the page's. A value of a sweep's axis brings along what goes with
        it."""
        along: dict[str, Setting] = {}
        axis = next(iter(self.columns), "")
        values = [str(value) for value in self.columns.get(axis, ())]
        if (at := str(settings.get(axis, ""))) in values:
            along = {name: column[values.index(at)] for name, column in self.columns.items()}
        return {**self.settings, **along, **settings}
