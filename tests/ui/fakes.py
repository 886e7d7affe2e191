"""Fakes at the app's two boundaries: a lab that plays scripted events, and an analysis with fixed words."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any

from tcptutor.analysis.model import (
    Compared,
    Expectation,
    FlowVerdict,
    Prediction,
    Report,
    Second,
    Verdict,
)
from tcptutor.analysis.model import Phase as TcpPhase
from tcptutor.errors import TutorError
from tcptutor.lab.protocol import VERSION, Event, Finished, Phase, Ready, Samples
from tcptutor.run import Environment, Fidelity, FlowResult, Run, Sample
from tcptutor.spec import Experiment

GUEST = Environment(
    backend="guest",
    clock="virtual",
    kernel="6.12.41",
    reason="this machine's kernel has no netem, so a guest runs it",
)
MSS = 1448
_BLANK: dict[str, Any] = dict.fromkeys(Sample.__struct_fields__, 0) | {
    "ssthresh": 20,
    "mss": MSS,
    "app_limited": False,
}


def samples_of(experiment: Experiment, hz: float = 20.0) -> list[Sample]:
    """A sawtooth for each flow, the same every time."""
    chance = random.Random(experiment.seed)
    flows = experiment.total_streams
    rtt = experiment.path.delay or 0.02
    window = [10.0] * flows
    acked = [0.0] * flows
    rows = []
    for tick in range(1, int(experiment.seconds * hz) + 1):
        for flow in range(flows):
            acked[flow] += window[flow] * MSS / rtt / hz
            window[flow] += 1 / (rtt * hz) if tick > hz / 2 else window[flow] / 4
            if chance.random() < 0.06 or window[flow] > 150:
                window[flow] = max(window[flow] / 2, 2)
            rows.append(
                Sample(
                    **_BLANK
                    | {
                        "flow": flow,
                        "t": tick / hz,
                        "cwnd": int(window[flow]),
                        "rtt": rtt,
                        "bytes_acked": int(acked[flow]),
                    }
                )
            )
    return rows


def finished(experiment: Experiment, fidelity: Fidelity | None = None) -> Finished:
    flows = tuple(
        FlowResult(
            flow=flow, pair=1, throughput_bps=9e6, retransmits=10, losses=10, segments=9000,
            mean_rtt_s=0.05, mean_cwnd_segments=38.0, mss=MSS,
        )
        for flow in range(experiment.total_streams)
    )  # fmt: skip
    return Finished(flows=flows, fidelity=fidelity or Fidelity(), seconds=experiment.seconds)


class FakeLab:
    """Plays samples as fast as it is read, or `speed` times the lab's clock; `hold` stops it where it is."""

    def __init__(self, speed: float = 0.0, *, dies_at: float | None = None, unavailable: str = "") -> None:
        self.speed, self.dies_at, self.unavailable = speed, dies_at, unavailable
        self.hold_at: float | None = None
        """Lab seconds at which to wait until `go_on` is set."""
        self.go_on = asyncio.Event()
        self.environment: Environment | None = None
        self.fidelity = Fidelity()
        self.runs = self.stopped = 0
        self.closed = False

    async def warm(self) -> Environment:
        if self.unavailable:
            from tcptutor.errors import LabUnavailable

            raise LabUnavailable(self.unavailable)
        self.environment = GUEST
        return GUEST

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        self.runs += 1
        ended = False
        try:
            yield Ready(VERSION, GUEST)
            yield Phase("network", "building the network")
            for batch in _batches(samples_of(experiment), experiment.total_streams * 4):
                if self.hold_at is not None and batch[-1].t > self.hold_at:
                    await self.go_on.wait()
                if self.dies_at is not None and batch[-1].t > self.dies_at:
                    ended = True
                    raise TutorError("the lab's agent ended during the run: press r to run it again")
                if self.speed:
                    await asyncio.sleep(0.2 / self.speed)
                yield Samples(batch[-1].t, tuple(batch))
            yield finished(experiment, self.fidelity)
            ended = True
        finally:
            self.stopped += not ended

    async def close(self) -> None:
        self.closed = True


def _batches(rows: list[Sample], size: int) -> Iterable[list[Sample]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


# The analysis


def expect(experiment: Experiment) -> Expectation:
    rate = 9e6 * experiment.total_streams
    return Expectation(
        predictions=(
            Prediction(
                model="mathis", label="Mathis", throughput_bps=rate, formula="1.22 × 1448 B / (50 ms × √0.001)",
                tolerance=0.09, limited_by="random-loss",
            ),
            Prediction(
                model="link", label="link", throughput_bps=95.6e6, formula="100 Mbit/s × 1448/1514",
                tolerance=0.01, limited_by="bottleneck",
            ),
        ),
        cwnd_segments=38.7,
        loss_events=24,
    )  # fmt: skip


def report(run: Run) -> Report:
    predictions = expect(run.experiment).predictions
    measured = predictions[0].throughput_bps * 1.06
    return Report(
        throughput_bps=measured,
        jain_index=0.97,
        loss_rate=0.001,
        retransmits=31,
        loss_events=30,
        compared=tuple(
            Compared(
                prediction=each,
                ratio=measured / each.throughput_bps,
                within=abs(measured / each.throughput_bps - 1) <= each.tolerance,
            )
            for each in predictions
        ),
        verdict=Verdict(
            limited_by="random-loss",
            sentence="random loss, 0.1 %: the link is mostly idle",
            evidence={"losses": 30},
            flows=tuple(
                flow_verdict(flow, run.experiment.seconds) for flow in range(run.experiment.total_streams)
            ),
        ),
    )


def flow_verdict(flow: int, seconds: float) -> FlowVerdict:
    """A flow that grows for 3 s and is then held by random loss, one every 4 s."""
    parts = [("growing", second) if second < 3 else ("random-loss", second) for second in range(int(seconds))]
    phases = [TcpPhase(start=0, end=2.6, name="slow-start")]
    for loss in range(3, int(seconds), 4):
        phases += [
            TcpPhase(start=phases[-1].end, end=loss, name="congestion-avoidance"),
            TcpPhase(start=loss, end=loss + 0.1, name="recovery"),
        ]
    return FlowVerdict(
        flow=flow,
        limited_by="random-loss",
        sentence="random loss, 0.1 %",
        shares={"random-loss": 0.95, "growing": 0.05},
        seconds=tuple(
            Second(
                start=second, end=second + 1, limited_by=name, throughput_bps=9e6, busy=1, rwnd_limited=0,
                sndbuf_limited=0, app_limited=0, stalled=0, loss_events=1, retransmits=1, timeouts=0, marks=0,
                reordered=0, queue_drops=0, rtt_s=0.05, min_rtt_s=0.05, cwnd_segments=38, link_share=0.1,
                link_used=0.8,
            )
            for name, second in parts
        ),
        phases=(*phases, TcpPhase(start=phases[-1].end, end=seconds, name="congestion-avoidance")),
    )  # fmt: skip


class Throughput:
    """Bytes acknowledged between two instants, all flows together."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []
        self._acked: dict[int, int] = {}
        self._last = (0.0, 0)

    def add(self, samples: Iterable[Sample]) -> None:
        t = 0.0
        for sample in samples:
            self._acked[sample.flow] = sample.bytes_acked
            t = sample.t
        total = sum(self._acked.values())
        before, acked = self._last
        if t > before:
            self.points.append((t, (total - acked) * 8 / (t - before)))
            self._last = t, total
