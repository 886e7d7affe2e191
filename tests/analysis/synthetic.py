"""Runs made of chosen numbers: what the kernel would report of a flow that behaves so."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import structs

from tcptutor.analysis import Evidence, Verdict
from tcptutor.run import (
    SSTHRESH_INFINITE,
    Environment,
    Fidelity,
    QueueSample,
    QueueTable,
    Run,
    Sample,
    SampleTable,
)
from tcptutor.spec import Experiment, build

HZ = 20
MSS = 1448

Value = float | Callable[[float], float]
"""A number, or what it is at time t."""

COUNTS = {"cwnd", "ssthresh", "retransmits", "snd_wnd", "ca_state", "reord_seen", "dsack_dups", "unacked"}
"""Columns that the kernel reports as whole numbers."""

STEADY: dict[str, Value] = {
    "cwnd": 42,
    "ssthresh": SSTHRESH_INFINITE,
    "rtt": 0.0502,
    "min_rtt": 0.0501,
    "retransmits": 0,
    "snd_wnd": 3_000_000,
    "ca_state": 0,
    "app_limited": 0,
    "busy": lambda t: t,
    "rwnd_limited": 0,
    "sndbuf_limited": 0,
    "reord_seen": 0,
    "dsack_dups": 0,
}
"""A flow that always has data to send, loses nothing and sees no queue."""


def experiment(pairs: int = 1, **parameters: str) -> Experiment:
    """An experiment over 100 Mbit/s and 50 ms with Reno, changed by `parameters`."""
    text = {"rate": "100 Mbit/s", "delay": "50 ms", "algorithm": "reno", "duration": "10 s", **parameters}
    return build("test/synthetic", {"parameters": text, "pairs": pairs})


def samples(flow: int, bps: Value, until: float, state: Mapping[str, Value]) -> list[Sample]:
    """Samples of one flow from 0 to `until`; `bps` is its throughput, or the bits of payload sent by t."""
    rows = []
    for tick in range(round(until * HZ) + 1):
        t = tick / HZ
        sent = bps(t) if callable(bps) else bps * t
        now = {name: value(t) if callable(value) else value for name, value in (STEADY | dict(state)).items()}
        # Columns that a test does not choose follow from the ones that it does.
        window = now["cwnd"] * MSS
        made = {
            "flow": flow, "t": t, "mss": MSS, "rttvar": now["rtt"] / 4, "bytes_acked": int(sent / 8),
            "segs_out": int(sent / 8 / MSS), "delivery_rate": 1e6,
            "pacing_rate": 9.6 * window / max(now["rtt"], 1e-3) * (1 + tick % 7 / 100), "rto": 0.25,
            "unacked": now["cwnd"], **now,
            "app_limited": bool(now["app_limited"]),
        }  # fmt: skip
        rows.append(Sample(**{name: int(value) if name in COUNTS else value for name, value in made.items()}))
    return rows


def empty(made: Experiment, complete: bool = False) -> Run:
    """A run of `made` without a sample."""
    return Run(
        id="20240101-000000-abcdef",
        experiment=made,
        environment=Environment(backend="guest", clock="virtual", kernel="6.12.0"),
        started="2024-01-01T00:00:00+00:00",
        complete=complete,
        fidelity=Fidelity(status="valid"),
    )


def run_of(made: Experiment, *bps: Value, until: float | None = None, **state: Value) -> Run:
    """A run of `made` with one flow for each of `bps`, all in the same `state`, sampled until `until`."""
    end = made.seconds if until is None else until
    run = empty(made, complete=until is None)
    rows = [row for flow, one in enumerate(bps) for row in samples(flow, one, end, state)]
    run.samples = SampleTable(sorted(rows, key=lambda row: row.t))
    run.experiment_s = end
    return run


def at_different_times(bps: float, first: float, second: float, loss: str = "0", **state: Value) -> Run:
    """Two flows at `bps` each in 10 s; the first stops at `first` seconds, the second begins at `second`."""
    made = experiment(streams="2", starts=f"0 s, {second} s", duration="10 s", warmup="0 s", loss=loss)
    run = empty(made, complete=True)
    late = [structs.replace(row, t=row.t + second) for row in samples(1, bps, 10 - second, state)]
    run.samples = SampleTable(sorted([*samples(0, bps, first, state), *late], key=lambda row: row.t))
    return run


def with_queue(run: Run, drops: Value = 0, waiting: Value = 0) -> Run:
    """`run` with samples of a queue that has dropped so many packets by t, and in which so many bytes wait."""
    frame = (MSS + 66) / MSS

    def at(value: Value, t: float) -> int:
        return int(value(t) if callable(value) else value)

    def sent(t: float) -> int:
        latest: dict[int, int] = {}
        for row in run.samples:
            if row.t <= t:
                latest[row.flow] = row.bytes_acked
        return int(sum(latest.values()) * frame)

    ticks = (tick / HZ for tick in range(round(HZ * run.experiment_s) + 1))
    run.queue = QueueTable(
        QueueSample(t, at(waiting, t), -(-at(waiting, t) // 1514), at(drops, t), sent(t)) for t in ticks
    )
    return run


def numbers(verdict: Verdict) -> Evidence:
    """What a verdict of a run that measured something rests on."""
    assert verdict.evidence is not None
    return verdict.evidence


def losing(every: float) -> dict[str, Value]:
    """State of a flow that loses one segment every so many seconds, and whose window is a sawtooth."""
    return {
        "ssthresh": lambda t: 20 + int(t / every) % 2,
        "retransmits": lambda t: int(t / every),
        "cwnd": lambda t: 30 + 20 * (t % every) / every,
    }
