"""What the samples of a run say, read without any of the code that is audited."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from tcptutor.run import Run

EDGE = 1.5e-3
"""Seconds by which a sample may come beside the time that was meant."""


class Raw:
    """What the samples of some flows say from one time to another."""

    def __init__(self, run: Run, flows: Sequence[int], start: float, end: float) -> None:
        self.run, self.experiment = run, run.experiment
        self.start, self.end = start, end
        self.columns: dict[int, dict[str, list[float]]] = {}
        numbers, times = run.samples.column("flow"), run.samples.column("t")
        for flow in flows:
            rows = [
                row
                for row, (number, t) in enumerate(zip(numbers, times, strict=True))
                if number == flow and start - EDGE <= t <= end + EDGE
            ]
            if len(rows) > 1 and times[rows[-1]] - times[rows[0]] >= 0.2:
                self.columns[flow] = {
                    name: [run.samples.column(name)[row] for row in rows]
                    for name in run.samples.row.__struct_fields__
                }
        # A queue does something to flows while they are there: one that begins later has nothing of what was before.
        begun = max(start, min((one["t"][0] for one in self.columns.values()), default=start))
        queue = [row for row in run.queue if begun - 0.06 <= row.t <= end + EDGE]
        self.queue = queue if len(queue) > 1 and not self.backward and self.rate() else []

    @cached_property
    def backward(self) -> bool:
        return all(self.experiment.reversed(flow) for flow in range(self.experiment.total_streams))

    def rate(self) -> float | None:
        """Of the bottleneck, bit/s: the mean over the time."""
        path = self.experiment.path
        if self.backward:
            return path.reverse_rate
        if path.rate is None:
            return None
        moments = [(0.0, path.rate), *((one.at, one.value) for one in path.changes if one.name == "rate")]
        total = 0.0
        for place, (at, value) in enumerate(moments):
            until = moments[place + 1][0] if place + 1 < len(moments) else self.end
            total += value * max(0.0, min(until, self.end) - max(at, self.start))
        return total / max(self.end - self.start, 1e-9)

    def grown(self, name: str) -> float:
        return sum(max(0.0, one[name][-1] - one[name][0]) for one in self.columns.values())

    def seconds(self) -> float:
        return sum(one["t"][-1] - one["t"][0] for one in self.columns.values())

    def connected(self) -> float:
        """Seconds without those in which a SYN was under way: nothing was sent, one is not acknowledged, no RTT."""
        waited = 0.0
        for one in self.columns.values():
            rows = zip(one["segs_out"], one["unacked"], one["rtt"], strict=True)
            open_at = [at for at, (sent, unacked, rtt) in enumerate(rows) if sent or not unacked or rtt > 0]
            waited += one["t"][open_at[0] if open_at else -1] - one["t"][0]
        return max(1e-9, self.seconds() - waited)

    def busy(self) -> float:
        return self.grown("busy")

    def mean(self, name: str) -> float:
        means = [sum(one[name]) / len(one[name]) for one in self.columns.values()]
        return sum(means) / max(1, len(means))

    def flow_bps(self) -> float:
        """One flow's, the mean of several: acknowledged or, at most, delivered."""
        each = [
            8 * max(one["bytes_acked"][-1] - one["bytes_acked"][0], 0) / (one["t"][-1] - one["t"][0])
            for one in self.columns.values()
        ]
        return sum(each) / max(1, len(each))

    def share(self, holds: Callable[[Mapping[str, float]], bool]) -> float:
        """Mean over the flows of the share of samples for which that is so."""
        shares = []
        for one in self.columns.values():
            rows = [dict(zip(one, values, strict=True)) for values in zip(*one.values(), strict=True)]
            shares.append(sum(map(holds, rows)) / len(rows))
        return sum(shares) / max(1, len(shares))

    def used(self) -> float | None:
        """Share of the link, by what its queue sent, else by the flows' payload."""
        rate = self.rate()
        if not rate:
            return None
        if self.queue:
            span = self.queue[-1].t - self.queue[0].t
            return 8 * (self.queue[-1].sent - self.queue[0].sent) / span / rate if span else None
        way = self.experiment.reversed(next(iter(self.columns)))
        every = sorted(set(self.run.samples.column("flow")))
        beside = Raw(
            self.run, [one for one in every if self.experiment.reversed(one) == way], self.start, self.end
        )
        frame = self.experiment.segment + self.experiment.headers + 14
        # An ACK that ends a repair tells at once of all that had arrived behind the hole; SACKs told of it one by one.
        segments = beside.grown("delivered") or beside.grown("bytes_acked") / self.experiment.segment
        bits = 8 * segments * frame
        first = min(one["t"][0] for one in beside.columns.values())
        last = max(one["t"][-1] for one in beside.columns.values())
        return bits / (last - first) / rate

    def wait(self) -> float:
        """Mean of what the queue takes to empty, else of the RTTs above each flow's least, s."""
        rate = self.rate()
        if self.queue and rate:
            return 8 * sum(row.bytes for row in self.queue) / len(self.queue) / rate
        rises = [
            sum(one["rtt"]) / len(one["rtt"]) - min((rtt for rtt in one["min_rtt"] if rtt > 0), default=1e9)
            for one in self.columns.values()
        ]
        return sum(max(0.0, rise) for rise in rises) / max(1, len(rises))

    def drops(self) -> int:
        return self.queue[-1].drops - self.queue[0].drops if self.queue else 0

    def loses(self) -> bool:
        path = self.experiment.path
        changed = any(one.name == "loss" and one.value > 0 for one in path.changes)
        return (path.reverse_loss if self.backward else path.loss) > 0 or (changed and not self.backward)

    def stalled(self) -> float:
        """Share of the time in the state after a timeout, or without an acknowledged byte though data was under way."""
        waited = 0.0
        for one in self.columns.values():
            times, acked = one["t"], one["bytes_acked"]
            patience = max(0.15, 2 * sum(one["rtt"]) / len(one["rtt"]))
            since, since_at, count = times[0], 0, one["total_rto"]
            for at in range(1, len(times)):
                loss = one["ca_state"][at] == 4
                moved = acked[at] > acked[at - 1]
                timers = max(one["total_rto"]) or max(one["ca_state"]) == 4
                ended = not timers or count[at] > count[since_at] or 4 in one["ca_state"][since_at : at + 1]
                if loss or (moved and ended and times[at - 1] - since > patience):
                    waited += times[at] - since if loss else times[at - 1] - since
                if loss or moved:
                    since, since_at = times[at], at
        return waited / max(self.seconds(), 1e-9)


def number(text: str) -> float:
    """A count, or a share of "12 %"."""
    return float(text.removesuffix(" %")) / (100 if text.endswith(" %") else 1)


def together(*problems: str) -> str:
    return "; ".join(problem for problem in problems if problem)


def must(holds: bool, problem: str) -> str:
    return "" if holds else problem


def least(what: str, value: float, bound: float) -> str:
    return must(value >= bound - 0.005, f"{what} is {value:.3g}, not {bound:g} or more")


def size_of(text: str) -> float:
    found = re.search(r"([\d.]+) (bytes|B|kB|MB|GB|KiB|MiB|GiB)", text)
    assert found, text
    scales = {"bytes": 1, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
    return float(found[1]) * scales[found[2]]


def rate(text: str) -> float:
    found = re.search(r"([\d.]+) (bit|kbit|Mbit|Gbit)/s", text)
    assert found, text
    return float(found[1]) * {"bit": 1, "kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9}[found[2]]


def time_of(text: str) -> float:
    found = re.search(r"([\d.]+) (µs|ms|s|min)", text)
    assert found, text
    return float(found[1]) * {"µs": 1e-6, "ms": 1e-3, "s": 1, "min": 60}[found[2]]


def way_back(raw: Raw, said: Mapping[str, str]) -> str:
    path = raw.experiment.path
    given = (path.rate if raw.backward else path.reverse_rate) or 0.0
    acks = raw.grown("bytes_acked") / raw.mean("mss") / 2 * 66 * 8
    span = max(one["t"][-1] for one in raw.columns.values()) - min(
        one["t"][0] for one in raw.columns.values()
    )
    return together(
        must(abs(rate(said["back"]) - given) <= 0.01 * given, f"the way back has {given}"),
        least("use of the way back", acks / span / max(given, 1), 0.75),
    )


def measured(run: Run) -> tuple[float, float]:
    """From when to when a run is measured, s: to the last byte where flows have an amount to send."""
    flows, end = run.experiment.flows, run.experiment.seconds + 1.0
    if flows.bytes is None:
        return flows.warmup, end
    last: dict[int, tuple[int, float]] = {}
    for row in run.samples:
        if row.t <= end and row.bytes_acked > last.get(row.flow, (-1, 0.0))[0]:
            last[row.flow] = (row.bytes_acked, row.t)
    return flows.warmup, max((t for _, t in last.values()), default=end)
