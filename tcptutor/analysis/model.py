"""What the analysis gives, as frozen data: predictions before a run, comparison and verdict after it."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import msgspec

from tcptutor.spec import Experiment

Course = tuple[tuple[float, float], ...]
"""A flow's congestion window over time: (s since the traffic began, segments)."""

LimitedBy = Literal[
    "application",
    "receive-window",
    "send-buffer",
    "pacing",
    "random-loss",
    "bottleneck",
    "growing",
    "reordering",
    "timeout",
]


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What one model says about the aggregate throughput of an experiment."""

    model: str
    """Short name: link, window, pacing, mathis, padhye, cubic, aggregate ..."""
    label: str
    """As it stands on the screen, at most 24 characters."""
    throughput_bps: float
    """Payload of all flows together, bit/s."""
    formula: str
    """The formula with this experiment's numbers in it, one line."""
    tolerance: float
    """Relative difference that the model's known error and the number of loss events justify."""
    limited_by: LimitedBy
    """What limits the flows if this model is right."""
    tolerance_from: dict[str, float] = {}
    """What the tolerance is made of, relative: "model", "losses" (their number), "slow start" (a short warm-up) ..."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Every model that applies to an experiment, before it is run."""

    predictions: tuple[Prediction, ...]
    """The binding one first, the others by rising throughput."""
    cwnd_segments: float | None
    """Mean congestion window of one flow under the binding model, segments; None where no model gives it."""
    loss_events: float
    """Loss events to be expected in the measured time, all flows together."""
    note: str = ""
    """What the student should know: regimes near each other, too few losses; one sentence or empty."""
    near: tuple[str, ...] = ()
    """Models of other limits that allow less than a third more than the binding one, the nearest first."""
    flows: tuple[float, ...] = ()
    """What each flow gets while it is there, bit/s; empty where no closed form says how flows share a link."""
    completion_s: float | None = None
    """How long the slowest flow takes for a fixed amount, s from its start; None where flows send until the end."""
    experiment: Experiment | None = None
    """What it is the expectation of; the next, the payload of a segment, bytes, as measured or None."""
    mss: int | None = None

    @cached_property
    def trajectory(self) -> tuple[Course, ...]:
        """Each flow's window over time; empty where the models have no law for it, as `courses` says.

        Computed when it is first asked for, in some 50 ms at most.
        """
        from tcptutor.analysis.trajectory import courses  # noqa: PLC0415  (it makes what this file describes)

        return courses(self.experiment, self.mss) if self.experiment else ()

    @property
    def binding(self) -> Prediction:
        """The model that gives the least, so the one that should be seen."""
        return self.predictions[0]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What limited the flows of a run, with the evidence."""

    limited_by: LimitedBy
    sentence: str
    """For the student: one sentence, at most about 100 characters."""
    evidence: dict[str, float | int | str]
    """The numbers that it rests on, by name."""


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction beside the measurement."""

    prediction: Prediction
    ratio: float
    """Measured over predicted."""
    within: bool
    """Whether the difference is inside the tolerance."""
    reason: str = ""
    """Why they differ, where it is known; one short sentence or empty."""

    @property
    def difference(self) -> float:
        """Measured less predicted, over predicted."""
        return self.ratio - 1


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A run in numbers, beside every model."""

    throughput_bps: float
    """Payload of all flows together, bit/s, warm-up left out."""
    jain_index: float
    loss_rate: float
    """Loss events per segment sent."""
    retransmits: int
    loss_events: int
    compared: tuple[Compared, ...]
    """The binding prediction first."""
    verdict: Verdict
    note: str = ""
    """Why prediction and measurement differ, where it is known; one sentence or empty."""
