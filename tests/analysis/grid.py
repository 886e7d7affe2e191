"""Runs to be judged, by number: recorded ones cut and changed, and made ones of every kind. The same ones each time."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from tcptutor.run import Fidelity, Run, SampleTable, SenderSample, SenderTable, UdpResult, load
from tcptutor.spec import Change, Experiment

from .synthetic import Value, experiment, losing, run_of, with_queue

Draw = random.Random

_ROOT = Path(__file__).parents[2]
RECORDED = sorted(
    file
    for folder in ("tests/analysis/runs", "tests/analysis/limits", "assets/recorded/*")
    for file in _ROOT.glob(f"{folder}/*.tcprun")
    if file.stem != "two-bottlenecks"  # changes would contradict its two links
)
"""Those of `limits` are thinned, each limited by another thing, with samples of the bottleneck's queue."""


@cache
def _recorded(path: Path) -> Run:
    return load(path)


def run(number: int) -> Run:
    """One of them; three of four are recorded ones that were changed."""
    draw = random.Random(number)
    if number % 4 == 0:
        return _made(draw)
    kept = _recorded(RECORDED[number % len(RECORDED)])
    changed = replace(kept)
    for change in draw.sample(_CHANGES, draw.choice([0, 1, 1, 2, 3])):
        changed = change(changed, draw)
    return changed


# Of a recorded run


def _cut(run: Run, draw: Draw) -> Run:
    """Only its first part arrived, and no result."""
    part = run.samples[: int(draw.uniform(0.02, 1) * len(run.samples))]
    last = part[-1].t if len(part) else 0.0
    queue = type(run.queue)(row for row in run.queue if row.t <= last)
    return replace(run, samples=part, queue=queue, flows=[], complete=False, experiment_s=last)


def _without_some_flows(run: Run, draw: Draw) -> Run:
    flows = sorted(set(run.samples.column("flow")))
    left = draw.sample(flows, draw.randint(1, len(flows))) if flows else []
    return replace(run, samples=SampleTable(row for row in run.samples if row.flow in left), flows=[])


def _with(run: Run, of: Callable[[Experiment], Experiment]) -> Run:
    return replace(run, experiment=of(run.experiment), flows=[])


def _other_warmup(run: Run, draw: Draw) -> Run:
    total = run.experiment.seconds
    warmup = round(draw.uniform(0, 0.8) * total, 1)
    return _with(run, lambda it: replace(
        it, flows=replace(it.flows, warmup=warmup, duration=round(total - warmup, 1))
    ))  # fmt: skip


def _without_queue(run: Run, draw: Draw) -> Run:
    return replace(run, queue=type(run.queue)())


def _without_path(run: Run, draw: Draw) -> Run:
    """As a file of another program tells of it."""
    made = _with(run, lambda it: replace(it, path=replace(it.path, rate=None, loss=0.0, delay=0.0)))
    return replace(made, environment=replace(run.environment, backend="imported"), queue=type(run.queue)())


def _other_path(run: Run, draw: Draw) -> Run:
    """What was set is not what the samples show."""
    path = run.experiment.path
    other = draw.choice(
        [
            {"loss": draw.choice([0.0, 0.001, 0.05])},
            {"queue": draw.randint(3000, 10**6)},
            {"qdisc": draw.choice(["codel", "fq_codel", "red", "fq"])},
            {"rate": (path.rate or 1e8) * draw.uniform(0.5, 4)},
            {"reverse_rate": draw.uniform(1e5, 1e7)},
            {"jitter": 0.005},
            {"pair_delays": (0.0, 0.05)},
            {"changes": (Change(run.experiment.flows.warmup + 1.0, "loss", 0.02),)},
        ]
    )
    return _with(run, lambda it: replace(it, path=replace(it.path, **other)))


def _other_hosts(run: Run, draw: Draw) -> Run:
    bps = max((flow.throughput_bps for flow in run.flows), default=1e7)
    other = draw.choice(
        [
            {"maxrate": bps * draw.uniform(0.8, 3)},
            {"window": draw.randint(6000, 500_000)},
            {"send_buffer": draw.randint(16_000, 500_000)},
            {"algorithm": draw.choice(["reno", "cubic", "bbr", "vegas"])},
        ]
    )
    return _with(run, lambda it: replace(it, hosts=replace(it.hosts, **other)))


def _other_flows(run: Run, draw: Draw) -> Run:
    bps = max((flow.throughput_bps for flow in run.flows), default=1e7)
    other = draw.choice(
        [
            {"pacing": bps * draw.uniform(0.8, 3)},
            {"buffer": draw.randint(8000, 200_000)},
            {"directions": ("reverse",)},
            {"bytes": draw.randint(100_000, 10**7)},
        ]
    )
    return _with(run, lambda it: replace(it, flows=replace(it.flows, **other)))


def _waiting_senders(run: Run, draw: Draw) -> Run:
    waiting = draw.choice([0, 3000, 30_000])
    ticks = range(int(20 * run.experiment.seconds))
    senders = SenderTable(SenderSample(1, tick / 20, waiting, waiting // 1500, 0) for tick in ticks)
    return replace(run, senders=senders)


_CHANGES = (
    _cut, _without_some_flows, _other_warmup, _without_queue, _without_path, _other_path, _other_hosts, _other_flows,
    _waiting_senders,
)  # fmt: skip


# Made


def _made(draw: Draw) -> Run:
    """Flows with a few states at once, as no kernel might report them together."""
    parameters: dict[str, str] = {"duration": f"{draw.randint(2, 10)} s", "warmup": f"{draw.randint(0, 2)} s"}
    parameters |= draw.choice(
        [{}, {"loss": "0.1 %"}, {"qdisc": "codel", "ecn": "on"}, {"queue": "0.1 BDP"}, {"rate": "none"}]
    )
    parameters |= draw.choice([{}, {"maxrate": "20 Mbit/s"}, {"pacing": "20 Mbit/s"}, {"window": "64 KiB"}])
    parameters |= draw.choice([{}, {"algorithm": "bbr"}, {"reverse_rate": "300 kbit/s"}, {"jitter": "5 ms"}])
    flows = draw.choice([1, 1, 2, 4])
    made = experiment(**parameters, streams=f"{flows}")
    state: dict[str, Value] = {}
    for name, values in _STATES.items():
        if draw.random() < 0.3:
            state[name] = draw.choice(values)
    if draw.random() < 0.5:
        state |= losing(draw.uniform(0.3, 4))
    if draw.random() < 0.2:
        state |= {"ca_state": 4, "total_rto": lambda t: int(t)}
    if draw.random() < 0.15:
        marks = {
            "delivered_ce": lambda t: int(4 * t),
            "ssthresh": lambda t: 20 + int(t) % 2,
            "retransmits": 0,
        }
        state |= marks
    rates = [
        draw.choice([1e6, 84e6, 9.5e6, 20e6, 47e6, 95.6e6]) / flows * draw.uniform(0.9, 1)
        for _ in range(flows)
    ]
    run = run_of(made, *rates, **state)
    if draw.random() < 0.7:
        run = with_queue(
            run, draw.choice([0, 5, lambda t: int(3 * t)]), draw.choice([0, 3000, 30_000, 300_000])
        )
    if draw.random() < 0.2:
        lost = draw.choice([0, 3, 500])
        run.udp = [
            UdpResult(
                pair=0, sent_bps=1e6, received_bps=1e6 - lost, lost=lost, datagrams=1000, jitter_s=1e-3,
                overruns=draw.choice([None, lost]),
            )
        ]  # fmt: skip
        if draw.random() < 0.3:
            run = replace(run, experiment=replace(made, flows=replace(made.flows, streams=0, udp_streams=1)))
            run.samples, run.flows = SampleTable(), []
    if draw.random() < 0.3:
        run.fidelity = Fidelity(status="valid", checks={"busiest processor": draw.choice([0.3, 0.95])})
    return run


_STATES: dict[str, tuple[Value, ...]] = {
    "busy": (lambda t: 0.3 * t, lambda t: 0.85 * t),
    "rwnd_limited": (lambda t: 0.2 * t, lambda t: 0.7 * t),
    "sndbuf_limited": (lambda t: 0.2 * t, lambda t: 0.7 * t),
    "app_limited": (1, lambda t: t > 5),
    "unacked": (3, 12, 40),
    "notsent": (0, 100_000),
    "snd_wnd": (20_000, 65_536),
    "cwnd": (10, 90, lambda t: 20 + 10 * t, lambda t: 60 - 2 * t),
    "rtt": (0.06, 0.12, lambda t: 0.05 + 0.01 * t),
    "reord_seen": (lambda t: int(5 * t),),
    "dsack_dups": (lambda t: int(2 * t),),
    "delivered_ce": (lambda t: int(4 * t),),
    "pacing_rate": (2e7, 1e7),
}
