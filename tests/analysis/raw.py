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
        self.start, self.end, self.flows = start, end, flows
        self.columns: dict[int, dict[str, list[float]]] = {}
        numbers, times = run.samples.column("flow"), run.samples.column("t")
        size, acked = run.experiment.flows.bytes, run.samples.column("bytes_acked")
        done: dict[int, float] = {}
        for number, t, count in zip(numbers, times, acked, strict=True):
            if size is not None and count >= size:
                done.setdefault(number, t)
        for flow in flows:
            # A transfer that is over is not there any more.
            until = min(end, done.get(flow, end))
            rows = [
                row
                for row, (number, t) in enumerate(zip(numbers, times, strict=True))
                if number == flow and start - EDGE <= t <= until + EDGE
            ]
            least = 0.2 if size is None else 0.03
            if len(rows) > 1 and times[rows[-1]] - times[rows[0]] >= least:
                self.columns[flow] = {
                    name: [run.samples.column(name)[row] for row in rows]
                    for name in run.samples.row.__struct_fields__
                }
        # A queue does something to flows while they are there: one that begins later has nothing of what was before.
        begun = max(start, min((one["t"][0] for one in self.columns.values()), default=start))
        if size is not None:
            end = self.end = max((one["t"][-1] for one in self.columns.values()), default=end)
        # From the last sample before: with one of the time before a change much was sent at another rate.
        since = max((row.t for row in run.queue if row.t <= begun + EDGE), default=begun)
        queue = [row for row in run.queue if since <= row.t <= end + EDGE]
        self.queue = queue if len(queue) > 1 and not self.backward and self.rate() else []

    @cached_property
    def backward(self) -> bool:
        return bool(self.flows) and all(map(self.experiment.reversed, self.flows))

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

    def rate_at(self, t: float) -> float | None:
        """Of the bottleneck at one time, bit/s."""
        path = self.experiment.path
        if self.backward:
            return path.reverse_rate
        changes = [one.value for one in path.changes if one.name == "rate" and one.at <= t]
        return changes[-1] if changes else path.rate

    def value(self, name: str, first: float) -> float:
        """Of a property of the path in the middle of the time; `first` where it never changed."""
        middle = (self.start + self.end) / 2
        changes = [one.value for one in self.experiment.path.changes if one.name == name and one.at <= middle]
        return changes[-1] if changes else first

    def weights(self) -> list[float]:
        """Of each flow: its share of all bytes, or an equal one where none arrived."""
        grown = [max(0.0, one["bytes_acked"][-1] - one["bytes_acked"][0]) for one in self.columns.values()]
        total = sum(grown)
        return [each / total if total else 1 / len(grown) for each in grown]

    def by_bytes(self, share: Callable[[Mapping[str, list[float]]], float]) -> float:
        """Mean of a share over the flows, by the bytes of each."""
        return sum(
            weight * share(one) for one, weight in zip(self.columns.values(), self.weights(), strict=True)
        )

    def of_busy(self, name: str) -> float:
        """Share of the time with data to send in which that limited."""
        return self.by_bytes(
            lambda one: min(1.0, (one[name][-1] - one[name][0]) / max(1e-9, one["busy"][-1] - one["busy"][0]))
        )

    def grown(self, name: str) -> float:
        return sum(max(0.0, one[name][-1] - one[name][0]) for one in self.columns.values())

    def seconds(self) -> float:
        return sum(one["t"][-1] - one["t"][0] for one in self.columns.values())

    def busy(self) -> float:
        """Share of the time with a connection in which there was data to send.

        While a SYN is under way nothing was sent, one is not acknowledged, and there is no RTT.
        """

        def share(one: Mapping[str, list[float]]) -> float:
            rows = zip(one["segs_out"], one["unacked"], one["rtt"], strict=True)
            open_at = [at for at, (sent, unacked, rtt) in enumerate(rows) if sent or not unacked or rtt > 0]
            there = one["t"][-1] - one["t"][open_at[0] if open_at else -1]
            grown = one["busy"][-1] - one["busy"][0]
            # Bytes that arrived had to be sent, whatever the kernel counts.
            return (
                min(1.0, grown / there)
                if there and (grown or one["bytes_acked"][-1] == one["bytes_acked"][0])
                else 1.0
            )

        return self.by_bytes(share)

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
        """Mean over the flows, by their bytes, of the share of samples for which that is so."""

        def share(one: Mapping[str, list[float]]) -> float:
            rows = [dict(zip(one, values, strict=True)) for values in zip(*one.values(), strict=True)]
            return sum(map(holds, rows)) / len(rows)

        return self.by_bytes(share)

    def used(self) -> float | None:
        """Share of the link, by what its queue sent, else by the flows' payload."""
        rate = self.rate()
        if not rate:
            return None
        if len({self.experiment.reversed(flow) for flow in self.flows}) == 2:
            # Of both directions: what their flows carry of what they could.
            goodput = (rate + (self.experiment.path.reverse_rate or 1e99)) * self.experiment.segment
            goodput /= self.experiment.segment + self.experiment.headers + 14
            first = min(one["t"][0] for one in self.columns.values())
            last = max(one["t"][-1] for one in self.columns.values())
            return 8 * self.grown("bytes_acked") / (last - first) / goodput
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
        others = [one for one in every if self.experiment.reversed(one) != way]
        acks = (
            Raw(self.run, others, self.start, self.end).grown("bytes_acked")
            / self.experiment.segment
            / 2
            * 66
        )
        both = (bits + 8 * acks) / (last - first) / rate
        return min(1.0, both) if acks else both

    def wait(self) -> float:
        """Mean of what the queue takes to empty, else of the RTTs above each flow's least, s."""
        if self.queue and self.rate():
            return sum(8 * row.bytes / (self.rate_at(row.t) or 1e99) for row in self.queue) / len(self.queue)
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
        """Share of the time without an acknowledged byte, though data was under way, that a timeout ended."""

        def share(one: Mapping[str, list[float]]) -> float:
            waited = 0.0
            times, acked = one["t"], one["bytes_acked"]
            patience = max(0.15, 2 * sum(one["rtt"]) / len(one["rtt"]))
            since, since_at, count = times[0], 0, one["total_rto"]
            for at in range(1, len(times)):
                moved = acked[at] > acked[at - 1] or at == len(times) - 1
                timers = max(one["total_rto"]) or max(one["ca_state"]) == 4
                ended = not timers or count[at] > count[since_at] or 4 in one["ca_state"][since_at : at + 1]
                if moved and ended and times[at - 1] - since > patience:
                    waited += times[at - 1] - since
                if moved:
                    since, since_at = times[at], at
            return waited / max(times[-1] - times[0], 1e-9)

        return self.by_bytes(share)

    def return_load(self) -> tuple[float, float]:
        """Share of the other direction's rate that data and acknowledgements take, and what waits there, s."""
        path, every = self.experiment.path, sorted(set(self.run.samples.column("flow")))
        ways = [[flow for flow in every if self.experiment.reversed(flow) == way] for way in (False, True)]
        both = [Raw(self.run, way, self.start, self.end) for way in ways]
        bytes_of = [one.grown("bytes_acked") for one in both]
        mine = self.experiment.reversed(next(iter(self.columns)))
        if len(self.columns) == len(every):
            mine = bytes_of[1] > bytes_of[0]
        rate = (path.rate if mine else path.reverse_rate) or 1e99
        frame = (self.experiment.segment + self.experiment.headers + 14) / self.experiment.segment
        span = max(one["t"][-1] - one["t"][0] for one in both[mine].columns.values())
        taken = bytes_of[not mine] * frame + bytes_of[mine] / self.experiment.segment / 2 * 66
        own = [both[mine].columns[flow] for flow in both[mine].columns]
        weights = both[mine].weights()
        rise = sum(
            weight * (sum(one["rtt"]) / len(one["rtt"]) - min(rtt for rtt in one["min_rtt"] if rtt > 0))
            for one, weight in zip(own, weights, strict=True)
        )
        queue = [row for row in self.run.queue if self.start - 0.06 <= row.t <= self.end + EDGE]
        forward = sum(8 * row.bytes / (self.rate_at(row.t) or 1e99) for row in queue) / max(1, len(queue))
        return 8 * taken / span / rate, rise - (0.0 if mine else forward)


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
    used = acks / span / max(given, 1)
    rises = [
        sum(one["rtt"]) / len(one["rtt"]) - min(rtt for rtt in one["min_rtt"] if rtt > 0)
        for one in raw.columns.values()
    ]
    if raw.queue and sum(rises) / len(rises) > 2 * raw.wait():
        used *= 2  # behind a queue of acknowledgements segments come one by one, and each is acknowledged
    return together(
        must(abs(rate(said["back"]) - given) <= 0.01 * given, f"the way back has {given}"),
        least("use of the way back", used, 0.75),
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
