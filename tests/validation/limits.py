"""Compare `limited_by` with what counterfactual runs say.

`python -m tests.validation limits [--cells 60] [--seed 1]` draws experiments of every kind, with mid-run changes and
mixtures of limits. It runs each as it is, and once more with each of its resources relaxed: twice the rate, four times
the queue, a quarter of the loss, and so on. The resource that raises the throughput most, by `WORTH` or more, is what
limited the run. A path that changes is judged before and after the change as well. Runs are kept in the folder for
temporary files: the same command goes on where it stopped, and judges kept runs without running them again.
"""

from __future__ import annotations

import asyncio
import math
import random
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path as FilePath
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tcptutor import run as runs
from tcptutor.analysis import Report, report
from tcptutor.backends.lab import Lab
from tcptutor.backends.programs import run_until_signal
from tcptutor.base.errors import LabError, TutorError
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import settings
from tests.analysis import audit
from tests.validation import drawn as drawn_sets
from tests.validation.kinds import KINDS, Path, Settings, legal, on_path

WORTH = 0.15
"""Relative gain from which a relaxed resource counts as the limit."""

LEAST = 0.03
"""Relative gain below which chance may have made it."""

_AS_MUCH = 0.75
"""Share of the largest gain from which a second resource limits as much as the first."""

_RISING = 1.03
"""Throughput of the second half of the measured time over the first from which a longer run is tried."""

# Drawing


class ShortPath(Path):
    """Random numbers of one experiment, and a path of which seven seconds cost a few: 1.5 to 8 Mbit/s, 10 to 80 ms."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.rate = self.between(1.5e6, 8e6)
        self.delay = self.between(0.010, 0.080)

    @property
    def bdp(self) -> float:
        """Bytes."""
        return self.rate * self.delay / 8

    def settings(self, **more: str) -> Settings:
        return super().settings(**{"duration": "6 s", "warmup": "2 s", **more})

    def mbit(self, low: float, high: float) -> str:
        """A rate of `low` to `high` of the link's."""
        return f"{self.rate * self.between(low, high) / 1e6:.3g} Mbit/s"

    def bdps(self, low: float, high: float, least: float) -> str:
        """A size of `low` to `high` BDP, at least `least` bytes."""
        return f"{max(least, self.bdp * self.between(low, high)) / 1000:.3g} kB"

    def share(self, low: float, high: float) -> str:
        return f"{100 * self.between(low, high):.2g} %"


class FastPath(ShortPath):
    """A path with room for larger windows: 6 to 20 Mbit/s, 30 to 90 ms, a queue of 0.3 to 3 BDP."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(chance)
        self.rate = self.between(6e6, 20e6)
        self.delay = self.between(0.030, 0.090)

    def settings(self, **more: str) -> Settings:
        return super().settings(**{"queue": self.queue(0.3, 3), **more})


def _change(path: ShortPath) -> Settings:
    """A change of the path in mid-run, half of the time beside a limit of the hosts."""
    what = path.choice("rate", "delay", "loss", "queue")
    value = {
        "rate": path.mbit(0.2, 0.7),
        "delay": f"{1000 * path.delay * path.between(2, 5):.3g} ms",
        "loss": path.share(0.005, 0.03),
        "queue": path.bdps(0.1, 0.4, 6056),
    }[what]
    beside = path.choice("", "window", "pacing", "loss")
    more = {
        "": {},
        "window": {"window": path.bdps(0.3, 1.5, 6000)},
        "pacing": {"pacing": path.mbit(0.3, 0.9)},
        "loss": {"loss": path.share(0.003, 0.02)},
    }[beside]
    return path.settings(
        changes=f"{path.whole(4, 6)} s {what}={value}", queue=path.queue(0.5, 2), duration="8 s", **more
    )


def _recovery(path: ShortPath) -> Settings:
    """A path that becomes better in mid-run."""
    what = path.choice("rate", "delay", "loss")
    value = {
        "rate": path.mbit(1.5, 3),
        "delay": f"{1000 * path.delay * path.between(0.2, 0.6):.3g} ms",
        "loss": "0 %",
    }[what]
    more = {"loss": path.share(0.01, 0.04)} if what == "loss" else {}
    return path.settings(
        changes=f"{path.whole(4, 6)} s {what}={value}", queue=path.queue(0.5, 2), duration="8 s", **more
    )


MIXTURES: dict[str, Callable[[ShortPath], Settings]] = {
    "change (1)": _change,
    "change (2)": _change,
    "change (3)": _change,
    "change (4)": _change,
    "recovery (1)": _recovery,
    "recovery (2)": _recovery,
    "window and short queue": lambda p: p.settings(
        window=p.bdps(0.6, 2, 6000), queue=p.queue(0.1, 0.6)
    ),
    "window and slow return": lambda p: p.settings(
        window=p.bdps(0.3, 2, 6000), reverse_rate=f"{p.rate / 46 * p.between(0.3, 2) / 1e6:.3g} Mbit/s"
    ),
    "buffer and loss": lambda p: p.settings(
        send_buffer=p.bdps(0.5, 3, 16384), loss=p.share(0.002, 0.03)
    ),
    "pacing and window": lambda p: p.settings(
        pacing=p.mbit(0.2, 0.9), window=p.bdps(0.2, 0.9, 6000)
    ),
    "pacing and fq": lambda p: p.settings(pacing=p.mbit(0.2, 0.9), maxrate=p.mbit(0.2, 0.9)),
    "loss and short queue": lambda p: p.settings(
        loss=p.share(0.001, 0.02), queue=p.queue(0.1, 0.6), streams=p.choice("1", "2")
    ),
    "loss and jitter": lambda p: p.settings(
        loss=p.share(0.002, 0.02), jitter=f"{1000 * p.delay * p.between(0.02, 0.3):.3g} ms"
    ),
    "loss and reordering": lambda p: p.settings(loss=p.share(0.002, 0.02), reorder=p.share(0.005, 0.05)),
    "much loss": lambda p: p.settings(loss=p.share(0.05, 0.3)),
    "UDP and loss": lambda p: p.settings(
        udp_streams="1", udp_rate=p.mbit(0.2, 0.9), loss=p.share(0.002, 0.02), queue=p.queue(0.5, 2)
    ),
    "UDP and window": lambda p: p.settings(
        udp_streams="1", udp_rate=p.mbit(0.2, 0.9), window=p.bdps(0.2, 1, 6000), queue=p.queue(0.5, 2)
    ),
    "window, pairs": lambda p: p.settings(
        pairs="2", pair_delays=f"0 ms, {p.whole(10, 60)} ms", window=p.bdps(0.2, 1, 6000)
    ),
    "late flow with a window": lambda p: p.settings(
        streams="2", starts="0 s, 4 s", window=p.bdps(0.3, 1, 6000), queue=p.queue(0.5, 2)
    ),
    "writes and loss": lambda p: p.settings(length=f"{p.whole(5, 60)} B", loss=p.share(0.002, 0.02)),
    "amount and window": lambda p: p.settings(
        bytes=f"{p.between(50e3, 1e6) / 1000:.3g} kB", window=p.bdps(0.3, 2, 6000), warmup="0 s", duration="15 s"
    ),
    "no SACK and loss": lambda p: p.settings(loss=p.share(0.005, 0.03), tcp_sack="0"),
    "BBR, window": lambda p: p.settings(algorithm="bbr", window=p.bdps(0.3, 1.5, 6000)),
    "long path": lambda p: p.settings(
        delay=f"{p.whole(200, 500)} ms", queue=p.bdps(2, 6, 30000), algorithm=p.choice("reno", "cubic", "bbr")
    ),
}  # fmt: skip
"""Limits that meet, in time or on the path."""


def _meeting(make: Callable[[drawn_sets.Draw], Settings]) -> Callable[[random.Random], Settings]:
    """Return how one of the experiments in which two limits meet is drawn, cut to a few seconds."""

    def cut(chance: random.Random) -> Settings:
        made = make(drawn_sets.Draw(chance))
        seconds = {name: float(made[name].removesuffix(" s")) for name in ("warmup", "duration")}
        return {
            **made,
            "warmup": f"{min(3.0, seconds['warmup']):g} s",
            "duration": f"{min(8.0, seconds['duration']):g} s",
        }

    return cut


def drawn(seed: int, cells: int, kind: str = "") -> Iterator[tuple[str, Experiment]]:
    """Yield `cells` experiments: every kind of `tests.validation.kinds`, every mixture, every meeting of
    `tests.validation.drawn`, and every mixture on a faster path once in a turn; `kind` is a part of the names that
    are drawn.

    Raises:
        UsageError: A kind gives only experiments that contradict themselves.
    """
    every: dict[str, Callable[[random.Random], Settings]] = {
        **{kind: on_path(make, ShortPath) for kind, (_, make) in KINDS.items() if kind != "change"},
        **{kind: on_path(make, ShortPath) for kind, make in MIXTURES.items()},
    }
    turn, chance = list(every), random.Random(f"limits turn {seed}")
    chance.shuffle(turn)
    fast = {f"fast: {kind}": on_path(make, FastPath) for kind, make in MIXTURES.items()}
    meeting = {f"meeting: {kind}": _meeting(make) for kind, _, make in drawn_sets.SETS["meeting"]}
    turn += [*chance.sample(list(meeting), len(meeting)), *chance.sample(list(fast), len(fast))]
    turn = [each for each in turn if kind in each]
    every |= meeting | fast
    for number in range(cells):
        name = turn[number % len(turn)]
        chance = random.Random(f"limits {seed} {f'{kind} ' if kind else ''}{number}")
        yield name, legal(f"limits/{seed}-{number}", name, every[name], chance)


# Relaxing


class Resource(NamedTuple):
    """Something that may limit, and the experiment that has more of it."""

    name: str
    causes: tuple[str, ...]
    """Verdicts that name it."""
    relaxed: Experiment


def _part(experiment: Experiment, part: str, **values: object) -> Experiment:
    return replace(experiment, **{part: replace(getattr(experiment, part), **values)})


def _path(experiment: Experiment, name: str, factor: float) -> Experiment:
    """Return `experiment` with a property of the path, and all changes of it, multiplied."""
    path = experiment.path
    value = getattr(path, name) * factor
    changes = tuple(
        replace(one, value=one.value * factor) if one.name == name else one for one in path.changes
    )
    return _part(experiment, "path", **{name: round(value) if name == "queue" else value}, changes=changes)


def resources(experiment: Experiment, base: Run) -> Iterator[Resource]:
    """Yield every resource that may limit `experiment`; those that `base` shows not to be used up are left out."""
    path, hosts, flows = experiment.path, experiment.hosts, experiment.flows
    losing = path.loss or any(one.name == "loss" and one.value for one in path.changes)
    if path.rate:
        yield Resource("rate x2", ("bottleneck",), _path(experiment, "rate", 2))
    if path.rate and _dropped(base):
        yield Resource("queue x4", ("bottleneck", "timeout"), _path(experiment, "queue", 4))
    if path.qdisc not in ("fifo", "fq"):
        yield Resource("queue fifo", ("bottleneck",), _part(experiment, "path", qdisc="fifo", ecn=False))
    if path.reverse_rate:
        more = _part(experiment, "path", reverse_rate=2 * path.reverse_rate)
        yield Resource("reverse rate x2", ("bottleneck",), more)
    if path.reverse_loss:
        more = _part(experiment, "path", reverse_loss=path.reverse_loss / 4)
        yield Resource("reverse loss / 4", ("timeout", "random-loss"), more)
    if losing:
        yield Resource("loss / 4", ("random-loss", "timeout"), _path(experiment, "loss", 0.25))
    if path.reorder or path.jitter:
        more = _part(experiment, "path", reorder=path.reorder / 8, jitter=path.jitter / 8)
        yield Resource("reordering / 8", ("reordering",), more)
    if path.duplicate:
        more = _part(experiment, "path", duplicate=path.duplicate / 8)
        yield Resource("duplicates / 8", ("reordering",), more)
    if hosts.window:
        more = _part(experiment, "hosts", window=4 * hosts.window)
        yield Resource("window x4", ("receive-window",), more)
    if hosts.send_buffer:
        more = _part(experiment, "hosts", send_buffer=4 * hosts.send_buffer)
        yield Resource("send buffer x4", ("send-buffer",), more)
    if hosts.maxrate and flows.pacing:
        more = _part(_part(experiment, "hosts", maxrate=2 * hosts.maxrate), "flows", pacing=2 * flows.pacing)
        yield Resource("both paces x2", ("pacing",), more)
    elif hosts.maxrate:
        yield Resource("fq x2", ("pacing",), _part(experiment, "hosts", maxrate=2 * hosts.maxrate))
    elif flows.pacing:
        yield Resource("pacing x2", ("pacing",), _part(experiment, "flows", pacing=2 * flows.pacing))
    if flows.length:
        yield Resource("writes x8", ("application",), _part(experiment, "flows", length=8 * flows.length))
    if flows.bytes:
        yield Resource(
            "bytes x4", ("growing",), _part(experiment, "flows", bytes=4 * flows.bytes, duration=30.0)
        )
    elif _still_rises(base) or report(base).verdict.limited_by == "growing":
        more = _part(experiment, "flows", duration=flows.duration + 2 * flows.duration)
        yield Resource("time x3", ("growing",), more)


def _dropped(run: Run) -> bool:
    drops = run.queue.column("drops")
    return bool(drops) and drops[-1] > 0


def _still_rises(run: Run) -> bool:
    start, end = run.experiment.flows.warmup, run.experiment.seconds
    pieces = [(start, (start + end) / 2), ((start + end) / 2, end)]
    if changes := [one.at for one in run.experiment.path.changes if one.at > start]:
        pieces = [(changes[-1], (changes[-1] + end) / 2), ((changes[-1] + end) / 2, end)]
    early, late = (throughput(run, *piece) for piece in pieces)
    return late > _RISING * early


# Judging


def acknowledged(run: Run, t: float) -> float:
    """Return the payload of all flows that was acknowledged up to `t`, bytes."""
    last: dict[int, float] = {}
    for flow, at, count in zip(
        *(run.samples.column(name) for name in ("flow", "t", "bytes_acked")), strict=True
    ):
        if at <= t + 2e-3:
            last[flow] = count
    return math.fsum(last.values())


def throughput(run: Run, start: float, end: float) -> float:
    """Return the payload of all flows from `start` to `end`, bit/s."""
    return 8 * (acknowledged(run, end) - acknowledged(run, start)) / (end - start)


def _transfer(run: Run) -> float:
    """Return the mean throughput of transfers of a fixed size, each until it is over, bit/s."""
    ended: dict[int, float] = {}
    got: dict[int, float] = {}
    for flow, at, count in zip(
        *(run.samples.column(name) for name in ("flow", "t", "bytes_acked")), strict=True
    ):
        if count > got.get(flow, 0.0):
            got[flow], ended[flow] = count, at
    return math.fsum(8 * got[flow] / ended[flow] for flow in got) / max(1, len(got))


def pieces(experiment: Experiment) -> dict[str, tuple[float, float]]:
    """Return the measured time, and its parts before and after each change of the path, by what they are."""
    start, end = experiment.flows.warmup, experiment.seconds
    found = {"all": (start, end)}
    changes = sorted({one.at for one in experiment.path.changes if start < one.at < end})
    if changes:
        parts = list(pairwise([start, *changes, end]))
        found["before"], found["after"] = parts[0], parts[1]
    return found


class Truth(NamedTuple):
    """What counterfactual runs say of one part of the time."""

    gains: dict[str, float]
    """Relative gain of the throughput by resource, the largest first."""
    causes: tuple[str, ...]
    """Verdicts that are right; empty where no resource alone is worth it."""
    first: tuple[str, ...]
    """Verdicts that name the resource with the largest gain, where that is more than chance makes."""


def truth(base: Run, others: Sequence[tuple[Resource, Run]], span: tuple[float, float]) -> Truth:
    """Return what limited `base` from one time to another, by the runs with one resource relaxed."""
    gains: dict[str, float] = {}
    causes: dict[str, tuple[str, ...]] = {}
    fixed = base.experiment.flows.bytes is not None
    before = _transfer(base) if fixed else throughput(base, *span)
    for resource, run in others:
        if fixed:
            after = _transfer(run)
        elif resource.name.startswith("time"):
            # Only a part that goes on to the end could have grown on.
            if span[1] < base.experiment.seconds:
                continue
            after = throughput(run, base.experiment.seconds, run.experiment.seconds)
        else:
            after = throughput(run, *span)
        gains[resource.name] = after / before - 1 if before > 0 else math.inf if after > 0 else 0.0
        causes[resource.name] = resource.causes
    ranked = dict(sorted(gains.items(), key=lambda item: -item[1]))
    top = next(iter(ranked.values()), 0.0)
    named = [
        cause
        for name, gain in ranked.items()
        if gain >= WORTH and (gain >= _AS_MUCH * top or math.isinf(top))
        for cause in causes[name]
    ]
    first = next((causes[name] for name, gain in ranked.items() if gain >= LEAST), ())
    return Truth(ranked, tuple(dict.fromkeys(named)), first)


class Judged(msgspec.Struct, frozen=True):
    """One cell: the verdict about it, and what its counterfactual runs say."""

    kind: str
    run: Run
    report: Report
    truths: dict[str, Truth]
    """By part of the time: all, before and after a change."""

    @property
    def outcome(self) -> str:
        """`right`, `WRONG`, or `open` where no resource alone is worth it and the verdict is not of the first."""
        causes = {cause for truth in self.truths.values() for cause in truth.causes or truth.first}
        if self.report.verdict.limited_by in causes:
            return "right"
        return "WRONG" if any(truth.causes for truth in self.truths.values()) else "open"

    @property
    def lines(self) -> Iterator[str]:
        verdict = self.report.verdict
        yield f"{self.outcome:5} {self.kind}: {verdict.limited_by}: {verdict.sentence}"
        for part, truth in self.truths.items():
            gains = ", ".join(f"{name} {100 * gain:+.0f} %" for name, gain in truth.gains.items())
            yield f"      {part}: {' or '.join(truth.causes) or 'nothing alone'} ({gains})"
        written = settings(self.run.experiment).items()
        told = " ".join(f"--set {name}={value!r}" for name, value in written)
        yield f"      pairs {self.run.experiment.pairs} {told} --seed {self.run.experiment.seed}"


def run(seed: int, cells: int, jobs: int | None, kind: str = "") -> int:
    """Judge the drawn experiments and print the table; the exit code is 1 where a verdict or a sentence is wrong."""
    folder = FilePath(tempfile.gettempdir()) / "tcptutor-limits" / f"seed-{seed}{kind and f'-{kind}'}"
    folder.mkdir(parents=True, exist_ok=True)
    judged: list[Judged] = []
    false: list[str] = []
    stopped = run_until_signal(_judge_all(list(drawn(seed, cells, kind)), folder, jobs or 1, judged, false))
    if stopped is not None:
        raise stopped
    outcomes = [one.outcome for one in judged]
    print(
        f"{len(judged)} runs: {outcomes.count('right')} right, {outcomes.count('WRONG')} wrong, "
        f"{outcomes.count('open')} where no resource alone raises the throughput by {100 * WORTH:.0f} %"
    )
    print(f"{len(false)} sentences are contradicted by the samples")
    return int(bool(false or "WRONG" in outcomes))


async def _judge_all(
    chosen: Sequence[tuple[str, Experiment]],
    folder: FilePath,
    jobs: int,
    judged: list[Judged],
    false: list[str],
) -> TutorError | None:
    todo = iter(range(len(chosen)))

    async def work() -> None:
        lab = Lab("guest", "virtual")
        try:
            for number in todo:
                kind, experiment = chosen[number]
                try:
                    async with aclosing(_runs(lab, experiment, folder / f"{number:03}")) as made:
                        found = [each async for each in made]
                except TutorError as error:
                    print(f"{number}: {kind}: not run: {error}", flush=True)
                    continue
                base, *others = found
                relaxed = [(resource, run) for resource, run in others if resource is not None]
                spans = pieces(experiment)
                truths = {name: truth(base[1], relaxed, span) for name, span in spans.items()}
                one = Judged(kind, base[1], report(base[1]), truths)
                judged.append(one)
                print(f"{number}: " + "\n".join(one.lines), flush=True)
                for problem in audit.problems(one.run, one.report):
                    false.append(problem)
                    print(f"      FALSE: {problem}", flush=True)
        finally:
            await lab.close()

    try:
        await asyncio.gather(*(work() for _ in range(jobs)))
    except asyncio.CancelledError:
        return LabError("stopped: the same command goes on")
    return None


async def _runs(
    lab: Lab, experiment: Experiment, stem: FilePath
) -> AsyncIterator[tuple[Resource | None, Run]]:
    """Yield the run of `experiment`, then those with one resource relaxed, each from its file where it has one."""
    base = await _kept(lab, experiment, stem.with_name(f"{stem.name}-base.tcprun"))
    yield None, base
    for resource in resources(experiment, base):
        name = "".join(letter if letter.isalnum() else "-" for letter in resource.name)
        yield resource, await _kept(lab, resource.relaxed, stem.with_name(f"{stem.name}-{name}.tcprun"))


async def _kept(lab: Lab, experiment: Experiment, file: FilePath) -> Run:
    try:
        found = runs.load(file)
    except TutorError:
        found = None
    if found is not None and found.experiment == experiment:
        return found
    made = await lab.run_whole(experiment)
    runs.save(made, file)
    return made
