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


PhaseName = Literal["slow-start", "hystart-exit", "congestion-avoidance", "recovery", "timeout"]


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


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """What a flow's congestion control was doing for a while. Times are seconds since the traffic began."""

    start: float
    end: float
    """The start itself for what is only a mark: an exit of HyStart."""
    name: PhaseName


class Second(msgspec.Struct, frozen=True, kw_only=True):
    """What limited one flow in one second, with the numbers that say so. Shares are 0 to 1."""

    start: float
    end: float
    """A second later, or less where a flow or the measured time begins or ends."""
    limited_by: LimitedBy
    throughput_bps: float
    """Payload acknowledged."""
    busy: float
    """Share of the time with data to send."""
    rwnd_limited: float
    """Share of the busy time; so is the next."""
    sndbuf_limited: float
    app_limited: float
    """Share of the time in which the sender ran out of data."""
    stalled: float
    """Share of the time spent waiting for a timeout or recovering from one."""
    loss_events: int
    retransmits: int
    timeouts: int
    """0 where the kernel does not tell."""
    marks: int
    """Segments that arrived with an ECN mark."""
    reordered: int
    queue_drops: int
    """Packets of all flows that the bottleneck's queue dropped; 0 where it was not measured."""
    rtt_s: float
    """Mean; the next is the least that was ever measured."""
    min_rtt_s: float
    cwnd_segments: float
    link_share: float | None
    """Of the link's goodput, by this flow; None when the link is not shaped. The next: by all flows."""
    link_used: float | None


class FlowVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What limited one flow."""

    flow: int
    limited_by: LimitedBy
    """Over the measured time."""
    sentence: str
    shares: dict[LimitedBy, float]
    """Share of the measured time of each cause, the longest first."""
    seconds: tuple[Second, ...]
    """Of the whole run, warm-up included."""
    phases: tuple[Phase, ...]
    """Of the whole run."""


class FairnessSecond(msgspec.Struct, frozen=True, kw_only=True):
    """How evenly the flows shared what they got in one second."""

    t: float
    """Its end, s."""
    jain_index: float
    """1 when all get the same, 1/n when one of n gets all."""
    shares: dict[int, float]
    """By flow number, of the throughput of all that were there."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What limited the flows of a run, with the evidence."""

    limited_by: LimitedBy
    sentence: str
    """For the student: one sentence, at most about 100 characters."""
    evidence: dict[str, float | int | str]
    """The numbers that it rests on, by name."""
    flows: tuple[FlowVerdict, ...] = ()
    """Each flow by itself; empty without samples."""
    fairness: tuple[FairnessSecond, ...] = ()
    """Second by second for more than one flow; empty for one."""
    converged_s: float | None = None
    """From when on the flows had equal shares to the end (Jain's index of 0.9 or more); None if they had not."""


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
