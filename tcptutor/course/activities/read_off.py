"""Read off: an instant or a value on the student's own run, marked against its samples."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Literal, NamedTuple

from tcptutor.base import sizes, units
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activity import (
    NO_RUN,
    Mark,
    MarkContext,
    Problem,
    Question,
    Reference,
    interpret_number,
    is_sentence,
    typed_text,
)
from tcptutor.course.page_record import Given
from tcptutor.course.quantities import is_close, slip
from tcptutor.run import CA_STATES, SSTHRESH_INFINITE, Run, cuts_at
from tcptutor.run.flow_columns import FlowColumns, rows_of_flows
from tcptutor.spec import Experiment

_CWR = CA_STATES.index("cwr")
RATE_AROUND = 0.5
"""Half-width in s of the interval for a rate at an instant, because senders send in bursts."""


class Span(NamedTuple):
    """Interval of a run, s since the traffic began; for an instant start and end are equal."""

    start: float
    end: float


class FlowSamples(FlowColumns):
    """Samples of a flow, by column. Raises UsageError for a flow without samples."""

    def __init__(self, run: Run, flow: int) -> None:
        rows = rows_of_flows(run.samples).get(flow - 1)
        if rows is None:
            raise UsageError(f"this run has no samples of flow {flow}: run it again")
        super().__init__(run.samples, rows)
        self.run = run
        self.t: list[float] = self.column("t")

    def within(self, name: str, span: Span) -> Sequence[float]:
        """Return the values within `span`, or the nearest value if it has none."""
        first = min(bisect_left(self.t, span.start), len(self.t) - 1)
        found: list[float] = self.column(name)
        return found[first : max(bisect_right(self.t, span.end), first + 1)]

    def at(self, name: str, t: float) -> float:
        """Interpolate the value at `t` linearly."""
        column: list[float] = self.column(name)
        after = bisect_left(self.t, t)
        if after == 0 or after == len(self.t):
            return column[min(after, len(column) - 1)]
        share = (t - self.t[after - 1]) / (self.t[after] - self.t[after - 1])
        return column[after - 1] + share * (column[after] - column[after - 1])


def slow_start_end(flow: FlowSamples, span: Span) -> float:  # noqa: ARG001
    """Return the time in s when the flow left slow start."""
    states = zip(flow.t, *map(flow.column, ("cwnd", "ssthresh", "ca_state")), strict=True)
    ends = (t for t, cwnd, ssthresh, state in states if state >= _CWR or SSTHRESH_INFINITE > ssthresh <= cwnd)
    return _first(ends, "this flow never left slow start")


def first_loss(flow: FlowSamples, span: Span) -> float:  # noqa: ARG001
    """Return the time in s of the first loss event or ECN response."""
    states = zip(
        flow.t, *map(flow.column, ("ca_state", "retransmits", "total_rto", "delivered_ce")), strict=True
    )
    losses = (t for t, state, *counted in states if state >= _CWR or any(counted))
    return _first(losses, "this flow lost nothing")


def largest_cwnd(flow: FlowSamples, span: Span) -> float:
    """Return the largest cwnd in segments."""
    return max(flow.within("cwnd", span))


def smallest_rtt(flow: FlowSamples, span: Span) -> float:
    """Return the smallest smoothed RTT in s, as shown under the chart."""
    return min(_measured_rtts(flow, span))


def largest_rtt(flow: FlowSamples, span: Span) -> float:
    """Return the largest smoothed RTT in s."""
    return max(_measured_rtts(flow, span))


def min_rtt(flow: FlowSamples, span: Span) -> float:  # noqa: ARG001
    """Return the minimum of the single RTT samples in s, as reported by the kernel."""
    measured: list[float] = [each for each in flow.column("min_rtt") if each > 0]
    if not measured:
        raise UsageError("this flow measured no RTT: run it again")
    return measured[-1]


def mean_rtt(flow: FlowSamples, span: Span) -> float:
    """Return the mean smoothed RTT in s."""
    rtts = _measured_rtts(flow, span)
    return sum(rtts) / len(rtts)


def cwnd_at(flow: FlowSamples, span: Span) -> float:
    """Return cwnd in segments at the start of the span."""
    return flow.at("cwnd", span.start)


def throughput(flow: FlowSamples, span: Span) -> float:
    """Return the rate of acknowledged payload within the span, bit/s."""
    end = min(span.end, flow.t[-1])
    if end <= span.start:
        raise UsageError("this run is too short for it: run it again, to its end")
    return (flow.at("bytes_acked", end) - flow.at("bytes_acked", span.start)) * 8 / (end - span.start)


def rate_at(flow: FlowSamples, span: Span) -> float:
    """Return the rate of acknowledged payload within half a second of the instant, bit/s."""
    return throughput(flow, Span(max(span.start - RATE_AROUND, 0.0), span.start + RATE_AROUND))


def losses(flow: FlowSamples, span: Span) -> float:
    """Return the number of loss events within the span, each of a segment or more."""
    names = ("ca_state", "ssthresh", "retransmits", "delivered_ce", "total_rto", "bytes_acked")
    found = cuts_at(*map(flow.column, names))
    return sum(span.start <= flow.t[at] <= span.end for at in found.losses)


def queue_peak(flow: FlowSamples, span: Span) -> float:
    """Return the largest backlog of the bottleneck queue within the span, bytes."""
    queue = flow.run.queue
    waiting = [
        waits
        for t, waits in zip(queue.column("t"), queue.column("bytes"), strict=True)
        if span.start <= t <= span.end
    ]
    if not waiting:
        raise UsageError("this run has no samples of the queue then: run it again")
    return float(max(waiting))


def _measured_rtts(flow: FlowSamples, span: Span) -> list[float]:
    rtts = [rtt for rtt in flow.within("rtt", span) if rtt > 0]
    if not rtts:
        raise UsageError("this flow measured no RTT: run it again")
    return rtts


def _first(instants: Iterator[float], otherwise: str) -> float:
    instant = next(instants, None)
    if instant is None:
        raise UsageError(f"{otherwise} in this run, so it has no value to read off: run it again")
    return instant


class RunQuantity(NamedTuple):
    """Quantity a student can read off a run."""

    measure: Callable[[FlowSamples, Span], float]
    unit: Literal["time", "rate", "size", "number", "count"]
    """A number counts segments."""
    tolerance: str
    """Default tolerance: a share, or an amount in the unit."""
    over: Literal["run", "part", "instant", "span"] = "run"
    """Part of the run: "run" the complete run; "part" `start` to `end`, or all; "instant" `at`; "span" a span.
    The default span is the measured part."""
    adds_up: bool = False
    """True if the total over all flows is the sum."""


QUANTITIES = {
    "slow-start-end": RunQuantity(slow_start_end, "time", "0.3 s"),
    "first-loss": RunQuantity(first_loss, "time", "0.3 s"),
    "largest-cwnd": RunQuantity(largest_cwnd, "number", "10 %", "part"),
    "smallest-rtt": RunQuantity(smallest_rtt, "time", "10 %", "part"),
    "largest-rtt": RunQuantity(largest_rtt, "time", "10 %", "part"),
    "min-rtt": RunQuantity(min_rtt, "time", "10 %"),
    "mean-rtt": RunQuantity(mean_rtt, "time", "10 %", "span"),
    "cwnd-at": RunQuantity(cwnd_at, "number", "20 %", "instant"),
    "throughput": RunQuantity(throughput, "rate", "10 %", "span", adds_up=True),
    "rate-at": RunQuantity(rate_at, "rate", "20 %", "instant", adds_up=True),
    "losses": RunQuantity(losses, "count", "15 %", "span", adds_up=True),
    "queue-peak": RunQuantity(queue_peak, "size", "10 %", "part"),
}
QuantityName = Literal[
    "slow-start-end",
    "first-loss",
    "largest-cwnd",
    "smallest-rtt",
    "largest-rtt",
    "min-rtt",
    "mean-rtt",
    "cwnd-at",
    "throughput",
    "rate-at",
    "losses",
    "queue-peak",
]
ALL_FLOWS = 0


class ReadOff(Question, frozen=True, kw_only=True, tag_field="kind", tag="read-off"):
    """Question answered with a typed value and its unit; segments have none."""

    against_run: ClassVar[bool] = True

    about_run: bool = True
    quantity: QuantityName
    """Quantity to read off."""
    flow: int = 1
    """Counted from 1, as in the chart; 0 for the sum of all flows."""
    at: str = ""
    """For a value at an instant: the time since the traffic began."""
    start: str = ""
    """Defaults to the end of the warm-up."""
    end: str = ""
    """Defaults to the end of the run."""
    tolerance: str = ""
    """A share, "10 %", or an amount, "0.5 s"; defaults to the quantity's."""
    feedback: str = ""
    """Shown for a wrong value: where to look."""

    @property
    def _asked(self) -> RunQuantity:
        return QUANTITIES[self.quantity]

    @property
    def answer_format(self) -> str:
        """Format of an answer."""
        return units.EXAMPLES[self._asked.unit]

    @property
    def plain_unit(self) -> str:
        """Unit of a plain number; instants are in seconds."""
        instant = self._asked.unit == "time" and not self.quantity.endswith("rtt")
        return "s" if instant else units.FIELD_UNITS[self._asked.unit]

    def interpret(self, given: Given) -> str:
        return interpret_number(given, self._asked.unit, self.plain_unit)

    def contradiction(self) -> Problem | None:
        if not self.about_run:
            return "about_run", "must be true: the value is read off the run"
        if self.flow < ALL_FLOWS:
            return "flow", f"{self.flow} is out of bounds: flows are counted from 1"
        if self.flow == ALL_FLOWS and not self._asked.adds_up:
            return "flow", f"{self.quantity} is defined for a single flow: count flows from 1"
        try:
            self._tolerance()
        except UnitError as error:
            return "tolerance", str(error)
        return self._wrong_time()

    def _wrong_time(self) -> Problem | None:
        over = self._asked.over
        for key, text in self._times:
            if text and over not in (("instant",) if key == "at" else ("part", "span")):
                return key, f"has no effect on {self.quantity}"
            try:
                units.parse(text or "0", "time")
            except UnitError as error:
                return key, str(error)
        if over == "instant" and not self.at:
            return "at", f"is missing: {self.quantity} needs an instant, such as '5 s'"
        if self.start and self.end and units.parse(self.start, "time") >= units.parse(self.end, "time"):
            return "end", f"{self.end} is not after the start at {self.start}"
        return None

    @property
    def _times(self) -> tuple[tuple[str, str], ...]:
        return ("at", self.at), ("start", self.start), ("end", self.end)

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if not is_sentence(self.feedback):
            yield "feedback", "needs a sentence for a wrong value that says where to look"
        if experiment is None:
            return
        if self.flow > experiment.total_streams:
            yield "flow", f"the experiment of this page has only {experiment.total_streams}"
        for key, text in self._times:
            if text and units.parse(text, "time") > experiment.seconds:
                yield key, f"{text} is after the run's end at {units.seconds(experiment.seconds)}"
        warmup = experiment.flows.warmup
        if (
            self._asked.over == "span"
            and self.end
            and not self.start
            and units.parse(self.end, "time") <= warmup
        ):
            yield "end", f"{self.end} is within the warm-up of {units.seconds(warmup)}: set `start`"

    def measured(self, run: Run) -> float:
        """Return the right value in s, bit/s, bytes, segments or as a count.

        Raises:
            UsageError: The run lacks the value.
        """
        start = self.at or self.start
        whole = self._asked.over in ("run", "part")
        default = 0.0 if whole else run.experiment.flows.warmup
        span = Span(
            units.parse(start, "time") if start else default,
            units.parse(self.end, "time") if self.end else run.experiment.seconds,
        )
        flows = [self.flow] if self.flow else range(1, run.experiment.total_streams + 1)
        return sum(self._asked.measure(FlowSamples(run, flow), span) for flow in flows)

    def on_run(self, run: Run) -> Numeric:
        """Convert to a numeric question with the run's value, for a room that sees the same run.

        Raises:
            UsageError: The run lacks the value.
        """
        right = self.measured(run)
        relative, absolute = self._tolerance()
        return Numeric(
            id=self.id,
            prompt=self.prompt,
            answer=self._written(right).removesuffix(" segments"),
            unit=self._asked.unit,
            tolerance=relative + (absolute / right if right else 0.0),
            feedback=self.feedback,
            explanation=self.explanation,
        )

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        if context.run is None:
            return Reference(right=None, empty="")
        return Reference(right=self._written(self.measured(context.run)), empty="")

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        text = typed_text(given, self.answer_format)
        value = units.parse(
            text.removesuffix("segments") if self._asked.unit == "number" else text,
            self._asked.unit,
            self.plain_unit,
        )
        if context.run is None:
            raise UsageError(f"this question needs a complete run: press {key_name('lesson.run')} to run it")
        right = self.measured(context.run)
        relative, absolute = self._tolerance()
        if is_close(value, right, relative, absolute):
            return Mark(correct=True, feedback=f"Your run has {self._written(right)}.")
        return Mark(correct=False, feedback=f"{slip(value, right, self._asked.unit)}{self.feedback}".strip())

    def _tolerance(self) -> tuple[float, float]:
        """Return the relative tolerance, and the absolute tolerance in the base unit. Raises UnitError."""
        text = self.tolerance or self._asked.tolerance
        if text.rstrip().endswith("%"):
            return units.parse(text, "ratio"), 0.0
        return 0.0, units.parse(text, self._asked.unit)

    def _written(self, value: float) -> str:
        unit = self._asked.unit
        return f"{value:.3g} segments" if unit == "number" else sizes.rounded(value, unit)


TABLES = (ReadOff,)
