"""Part of a run that a claim is about: a flow or all flows, and a period of time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from tcptutor.base.errors import UsageError
from tcptutor.run import FlowResult, Run, UdpResult, UdpSample

if TYPE_CHECKING:
    from tcptutor.analysis import Report
    from tcptutor.analysis.observed.flow import Interval, Trace
    from tcptutor.analysis.observed.measured import Measured


_SLACK = 1e-3
"""Tolerance in s when comparing sample times."""


class MeasuredRun:
    """Run with its analysis, each part computed once."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def measured(self) -> Measured:
        from tcptutor.analysis.observed.measured import measure  # noqa: PLC0415  # the course loads without it

        return measure(self.run)

    @cached_property
    def report(self) -> Report:
        from tcptutor.analysis import report  # noqa: PLC0415

        return report(self.run, self.measured)


class RunPart:
    """A flow or all flows of a run, over the measured time or a given period.

    Its figures raise UsageError if the run lacks them.
    """

    def __init__(
        self,
        whole: MeasuredRun,
        flow: int | None = None,
        start: float | None = None,
        end: float | None = None,
    ) -> None:
        """Select a part of a run.

        Args:
            whole: The run.
            flow: Counted from 1; None for all.
            start: s since the traffic began; None for the end of the warm-up.
            end: s since the traffic began; None for the end of the run.
        """
        self.whole, self.run, self.flow = whole, whole.run, flow
        self.is_period = start is not None or end is not None
        experiment = self.run.experiment
        self.start = experiment.flows.warmup if start is None else start
        self.end = experiment.seconds if end is None else end

    @cached_property
    def measured(self) -> Measured:
        from tcptutor.analysis.observed.measured import between  # noqa: PLC0415

        return between(self.whole.measured, self.start, self.end) if self.is_period else self.whole.measured

    @property
    def flows(self) -> list[FlowResult]:
        mine = [each for each in self.measured.flows if self.flow in (None, each.flow + 1)]
        return mine or self._nothing()

    @property
    def intervals(self) -> list[Interval]:
        mine = [each for each in self.measured.intervals if self.flow in (None, each.flow + 1)]
        return mine or self._nothing()

    @property
    def traces(self) -> list[Trace]:
        """Traces over the full length of the run."""
        mine = [each for each in self.measured.traces if self.flow in (None, each.flow + 1)]
        return mine or self._nothing()

    @property
    def udp(self) -> list[UdpResult]:
        from tcptutor.analysis.observed.measured import udp_results  # noqa: PLC0415

        mine = [each for each in udp_results(self.run) if self.flow in (None, each.flow + 1)]
        return mine or self._nothing("UDP flow")

    def udp_samples(self) -> Iterator[tuple[UdpSample, UdpSample]]:
        """Yield each UDP flow's last sample before the part begins, and its last sample in the part."""
        by_flow: dict[int, list[UdpSample]] = {}
        for row in self.run.udp_samples:
            if self.flow in (None, row.flow + 1) and row.t <= self.end + _SLACK:
                by_flow.setdefault(row.flow, []).append(row)
        for rows in by_flow.values():
            before = [row for row in rows if row.t <= self.start + _SLACK]
            yield (before or rows)[-1 if before else 0], rows[-1]

    @property
    def throughput(self) -> float:
        """Rate of payload received, bit/s."""
        if self.flow is not None:
            return self.flows[0].throughput_bps
        if not self.measured.flows and self.run.experiment.total_streams:
            self._nothing()
        return self.measured.throughput

    @property
    def utilization(self) -> float:
        """Throughput over the link's goodput."""
        from tcptutor.analysis.observed.path import Direction  # noqa: PLC0415

        goodput = Direction(self.run).goodput(self.start, self.end)
        if not goodput:
            raise UsageError("the link is not shaped, so its utilization is undefined")
        return self.throughput / goodput

    def _nothing(self, what: str = "flow") -> NoReturn:
        when = "in this period" if self.is_period else "in this run"
        raise UsageError(f"no {what} {self.flow or ''}".rstrip() + f" was measured {when}")
