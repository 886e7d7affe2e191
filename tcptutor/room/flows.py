"""Room experiment: each student owns a flow on a shared bottleneck and picks its congestion control.

The students pick by a vote (`ask_algorithms`). `plan_flows` turns their picks into an experiment. A `FlowMeter` follows
its run, and reports all rates to the room and a student's own rate to the student. After a second vote the room sees
the effect of its new picks.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from itertools import groupby

import msgspec

from tcptutor import theory
from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.base.errors import UsageError
from tcptutor.course.setting_line import experiment_line
from tcptutor.room.asked import AskedQuestion, AskedRound
from tcptutor.room.slides import FlowsShown
from tcptutor.room.talk import AlgorithmTotal, FlowBar, FlowsView
from tcptutor.run import Finished, FlowResult, Sample
from tcptutor.spec import Experiment, Flows, check, parameter
from tcptutor.wire.protocol import Event, Samples

FLOWS = "flows"
"""Id of the vote on algorithms, in place of an activity's id."""
MOST_FLOWS = int(parameter("streams").high)
"""Most flows of a host pair; further students share flows."""
FLOWS_WITHOUT_VOTERS = 4
"""Flows of each algorithm without any picks."""
LEAST_SHARE = 1e6
"""Minimum rate of the bottleneck per flow, bit/s; far below it, timeouts dominate."""
MOST_SECONDS, MOST_WARMUP = 10.0, 2.0
"""Longest measured time and warm-up, s: the lab takes several times longer for many flows."""
_WINDOW = 1.0
"""Averaging time of a rate, s."""


class FlowsPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Room experiment with the owners of its flows."""

    experiment: Experiment
    offered: tuple[str, ...]
    """Algorithms that the room could pick."""
    owners: dict[str, int]
    """Index of each voter's flow, by voter id."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Algorithm of each flow."""
        return self.experiment.hosts.algorithms

    @property
    def fair_bps(self) -> float:
        """Equal share of the bottleneck's payload, bit/s."""
        experiment = self.experiment
        frame = experiment.segment + experiment.headers + experiment.framing
        return (experiment.path.rate or 0.0) * experiment.segment / frame / len(self.algorithms)


class OwnFlow(msgspec.Struct, frozen=True, kw_only=True):
    """Flow of a student, as shown to its owner."""

    algorithm: str
    """Display name, such as "CUBIC"."""
    others: int
    """Number of other students who own the same flow."""
    flows: int
    """Number of flows of the experiment."""
    fair_bps: float
    bps: float | None = None
    """Mean payload, bit/s; None before the run's end."""
    rank: int | None = None
    """Place among all flows, 1 for the fastest; None before the run's end."""
    earlier_algorithm: str = ""
    """Algorithm of the student's flow in the run after the first vote; empty without such a run."""
    earlier_bps: float = 0.0
    """Mean payload of that flow, bit/s."""


def ask_algorithms(shown: FlowsShown, experiment: Experiment, title: str = "") -> AskedQuestion:
    """Return the vote on the algorithms of the students' flows, without right answers.

    Args:
        shown: The algorithms to pick from.
        experiment: The experiment that results without any picks.
        title: Headline of the slide.
    """
    names = tuple(map(algorithm_name, shown.algorithms))
    pick = AskedRound(text="Pick your flow's congestion control.", choices=names)
    setting, rate = experiment_line(experiment, with_senders=False), experiment.path.rate or 0.0
    if rate < MOST_FLOWS * LEAST_SHARE:
        setting += f" · with more than {rate / LEAST_SHARE:.0f} flows a faster link"
    return AskedQuestion(activity=FLOWS, title=title, rounds=(pick, pick), setting=setting)


def plan_flows(base: Experiment, algorithms: Sequence[str], picks: Mapping[str, int], seed: int) -> FlowsPlan:
    """Plan the experiment with the flows that the room has picked.

    Each student owns a flow, up to `MOST_FLOWS`; more students share the flows of their algorithm, which gets flows
    in proportion to its students.

    Args:
        base: The experiment with the path that the flows share.
        algorithms: The algorithms to pick from.
        picks: Index of the picked algorithm by voter; if empty, each algorithm has `FLOWS_WITHOUT_VOTERS`.
        seed: Seed of the run.

    Raises:
        UsageError: The experiment has no bottleneck, or the lab cannot run it.
    """
    if not base.path.rate:
        raise UsageError(f"{base.name} has no bottleneck to share: name an experiment whose path has a rate")
    voters = [sorted(voter for voter in picks if picks[voter] == index) for index in range(len(algorithms))]
    if picks:
        numbers = _numbers_of_flows(list(map(len, voters)))
    else:
        numbers = [min(FLOWS_WITHOUT_VOTERS, MOST_FLOWS // len(algorithms))] * len(algorithms)
    order = _interleave(numbers)
    owners: dict[str, int] = {}
    for index, ids in enumerate(voters):
        places = [flow for flow, of in enumerate(order) if of == index]
        owners |= {voter: places[at % len(places)] for at, voter in enumerate(ids)}
    experiment = _with_flows(base, tuple(algorithms[index] for index in order), seed)
    check(experiment)
    return FlowsPlan(experiment=experiment, offered=tuple(algorithms), owners=owners)


class FlowMeter:
    """Rates of the flows of a room experiment while it runs, and its results."""

    def __init__(self, plan: FlowsPlan) -> None:
        self._plan = plan
        self._owners = Counter(plan.owners.values())
        self._recent: list[deque[tuple[float, int]]] = [deque() for _ in plan.algorithms]
        """Times and acknowledged bytes of each flow's last second."""
        self._results: dict[int, FlowResult] = {}
        self._t = 0.0
        self._ended = False

    @property
    def has_begun(self) -> bool:
        """True once a sample has arrived."""
        return self._ended or any(self._recent)

    def take(self, event: Event) -> None:
        """Process an event of the run."""
        match event:
            case Samples(t=t, rows=rows):
                self._t = t
                for row in rows:
                    self._add(row)
            case Finished(flows=flows, seconds=seconds):
                self._results = {result.flow: result for result in flows}
                self._t, self._ended = seconds, True
            case _:
                pass

    def view(self) -> FlowsView:
        """Return the view for the room."""
        plan, experiment = self._plan, self._plan.experiment
        bars = [
            FlowBar(algorithm=algorithm, voters=self._owners[flow], bps=self._rate(flow))
            for flow, algorithm in enumerate(plan.algorithms)
        ]
        bars.sort(key=lambda bar: plan.offered.index(bar.algorithm))
        totals = [
            (algorithm, list(group)) for algorithm, group in groupby(bars, key=lambda bar: bar.algorithm)
        ]
        rates = [bar.bps for bar in bars]
        return FlowsView(
            state="ended" if self._ended else "running" if self.has_begun else "ready",
            flows=tuple(bars),
            totals=tuple(
                AlgorithmTotal(
                    algorithm=algorithm,
                    flows=len(group),
                    voters=sum(bar.voters for bar in group),
                    bps=math.fsum(bar.bps for bar in group),
                )
                for algorithm, group in totals
            ),
            offered=plan.offered,
            link_bps=experiment.path.rate or 0.0,
            fair_bps=plan.fair_bps,
            jain_index=theory.jain_index(rates) if any(rates) else None,
            t=self._t,
            seconds=experiment.seconds,
            warmup=experiment.flows.warmup,
        )

    def own(self, voter: str) -> OwnFlow | None:
        """Return the flow of a voter; None for a voter without a flow."""
        flow = self._plan.owners.get(voter)
        if flow is None:
            return None
        mine = OwnFlow(
            algorithm=algorithm_name(self._plan.algorithms[flow]),
            others=self._owners[flow] - 1,
            flows=len(self._plan.algorithms),
            fair_bps=self._plan.fair_bps,
        )
        if flow not in self._results:
            return mine
        bps = self._results[flow].throughput_bps
        rank = 1 + sum(result.throughput_bps > bps for result in self._results.values())
        return msgspec.structs.replace(mine, bps=bps, rank=rank)

    def rates_of(self, picks: Mapping[str, int]) -> dict[str, float]:
        """Return each voter's mean payload in bit/s; empty before the end or for a run with other picks."""
        plan = self._plan
        picked = {voter: plan.algorithms[flow] for voter, flow in plan.owners.items()}
        if not self._results or picked != {voter: plan.offered[pick] for voter, pick in picks.items()}:
            return {}
        return {
            voter: self._results[flow].throughput_bps
            for voter, flow in plan.owners.items()
            if flow in self._results
        }

    def _add(self, row: Sample) -> None:
        if not 0 <= row.flow < len(self._recent):
            return
        recent = self._recent[row.flow]
        recent.append((row.t, row.bytes_acked))
        while len(recent) > 2 and recent[1][0] <= row.t - _WINDOW:
            recent.popleft()

    def _rate(self, flow: int) -> float:
        if self._ended:
            return self._results[flow].throughput_bps if flow in self._results else 0.0
        recent = self._recent[flow]
        if len(recent) < 2:
            return 0.0
        (start, before), (end, now) = recent[0], recent[-1]
        return 8 * (now - before) / (end - start) if end > start else 0.0


def _numbers_of_flows(voters: Sequence[int]) -> list[int]:
    """Return the number of flows per algorithm: its number of students, or proportional by largest remainders."""
    students = sum(voters)
    if students <= MOST_FLOWS:
        return list(voters)
    quotas = [MOST_FLOWS * number / students for number in voters]
    numbers = [max(1, int(quota)) if quota else 0 for quota in quotas]
    while sum(numbers) != MOST_FLOWS:
        step = 1 if sum(numbers) < MOST_FLOWS else -1
        usable = [at for at, number in enumerate(numbers) if number + step >= 1]
        at = max(usable, key=lambda index: step * (quotas[index] - numbers[index]))
        numbers[at] += step
    return numbers


def _interleave(numbers: Sequence[int]) -> list[int]:
    """Return the algorithm index of each flow, evenly interleaved, because flows start in this order."""
    places = [((at + 0.5) / number, index) for index, number in enumerate(numbers) for at in range(number)]
    return [index for _, index in sorted(places)]


def _with_flows(base: Experiment, algorithms: tuple[str, ...], seed: int) -> Experiment:
    """Return `base` with these flows, on a path that offers at least `LEAST_SHARE` per flow."""
    rate = base.path.rate or 0.0
    larger = max(1.0, len(algorithms) * LEAST_SHARE / rate)
    path = msgspec.structs.replace(
        base.path,
        rate=rate * larger,
        queue=round(base.path.queue * larger),
        burst=None,
        pair_delays=(),
        changes=(),
    )
    hosts = msgspec.structs.replace(
        base.hosts, algorithms=algorithms, window=None, send_buffer=None, maxrate=None
    )
    flows = Flows(
        streams=len(algorithms),
        duration=min(base.flows.duration, MOST_SECONDS),
        warmup=min(base.flows.warmup, MOST_WARMUP),
    )
    return msgspec.structs.replace(base, path=path, hosts=hosts, flows=flows, pairs=1, seed=seed)
