"""Draw experiments of every kind the lab can run, run them, and judge what the product says about each.

`python -m tests.validation kinds [--cells 100] [--seed 1]` prints one line per run and the totals: how often the
binding model is inside its tolerance, and each sentence that the auditor in `tests.analysis.audit` contradicts.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress

import msgspec

from tcptutor import spec
from tcptutor.analysis import Report, report
from tcptutor.backends.programs import run_until_signal
from tcptutor.base import units
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.fleet import pool
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import settings
from tests.analysis import audit

Settings = dict[str, str]

_ATTEMPTS = 20
"""How often one experiment is drawn until its settings do not contradict each other."""

USEFUL = 0.5
"""The widest tolerance that still says something."""

_PLAIN = ("reno", "cubic", "htcp", "highspeed")
_OTHERS = ("westwood", "illinois", "yeah", "bic", "vegas", "veno", "hybla", "scalable", "dctcp", "bbr")


class Path:
    """Random numbers of one experiment, and a path that is cheap to emulate: 2 to 40 Mbit/s, 5 to 80 ms."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.rate = self.between(2e6, 40e6)
        self.delay = self.between(0.005, 0.080)
        self.algorithm = chance.choice(_PLAIN)

    def between(self, low: float, high: float) -> float:
        return math.exp(self._chance.uniform(math.log(low), math.log(high)))

    def choice(self, *values: str) -> str:
        return self._chance.choice(values)

    def whole(self, low: int, high: int) -> int:
        return self._chance.randint(low, high)

    def queue(self, low: float, high: float) -> str:
        """A queue of `low` to `high` BDP, at least four frames."""
        return _size(max(4 * 1514, self.rate * self.delay / 8 * self.between(low, high)))

    def settings(self, **more: str) -> Settings:
        plain = {
            "algorithm": self.algorithm,
            "rate": _rate(self.rate),
            "delay": _time(self.delay),
            "duration": "10 s",
            "warmup": "3 s",
        }
        return {**plain, **more}


def _rate(bps: float) -> str:
    return f"{bps / 1e6:.3g} Mbit/s"


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"


def _size(size: float) -> str:
    return f"{size / 1000:.3g} kB"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _change(path: Path) -> Settings:
    what = path.choice("rate", "delay", "loss", "queue")
    value = {
        "rate": _rate(path.rate * path.between(0.2, 0.7)),
        "delay": _time(path.delay * path.between(2, 5)),
        "loss": _percent(path.between(0.002, 0.02)),
        "queue": path.queue(0.1, 0.5),
    }[what]
    return path.settings(
        changes=f"{path.whole(5, 8)} s {what}={value}", queue=path.queue(0.5, 2), duration="12 s"
    )


def _bbr_beside(path: Path) -> Settings:
    first = path.choice("cubic", "reno")
    return path.settings(
        pairs="2", algorithms=f"{first}, bbr", queue=path.queue(1, 8), duration="30 s", warmup="5 s"
    )


KINDS: dict[str, tuple[int, Callable[[Path], Settings]]] = {
    "random loss": (7, lambda p: p.settings(loss=_percent(p.between(0.001, 0.03)), queue=p.queue(1, 2))),
    "window": (4, lambda p: p.settings(window=_size(p.between(4e3, 60e3)))),
    "send buffer": (3, lambda p: p.settings(send_buffer=_size(p.between(16e3, 128e3)))),
    "paced by the application": (2, lambda p: p.settings(pacing=_rate(p.rate * p.between(0.2, 0.9)))),
    "paced by fq": (2, lambda p: p.settings(maxrate=_rate(p.rate * p.between(0.2, 0.9)))),
    "link": (7, lambda p: p.settings(queue=p.queue(0.1, 4))),
    "small writes": (3, lambda p: p.settings(length=f"{p.whole(1, 30)} B", duration="5 s", warmup="2 s")),
    "loss and window": (
        5,
        lambda p: p.settings(loss=_percent(p.between(0.001, 0.02)), window=_size(p.between(10e3, 100e3))),
    ),
    "loss and pacing": (
        5,
        lambda p: p.settings(
            loss=_percent(p.between(0.001, 0.02)), pacing=_rate(p.rate * p.between(0.05, 0.6))
        ),
    ),
    "other algorithms": (
        10,
        lambda p: p.settings(algorithm=p.choice(*_OTHERS), loss=_percent(p.between(0.0005, 0.01))),
    ),
    "BBR with loss": (
        4,
        lambda p: p.settings(algorithm="bbr", loss=_percent(p.between(0.01, 0.2)), duration="20 s"),
    ),
    "streams": (3, lambda p: p.settings(streams=str(p.whole(6, 16)), queue=p.queue(0.3, 2))),
    "UDP beside TCP": (
        3,
        lambda p: p.settings(
            udp_streams="1", udp_rate=_rate(p.rate * p.between(0.1, 1.2)), queue=p.queue(0.5, 2)
        ),
    ),
    "pairs": (
        4,
        lambda p: p.settings(
            pairs="3",
            pair_delays=", ".join(_time(p.between(0.001, 0.03)) for _ in range(3)),
            queue=p.queue(0.5, 2),
        ),
    ),
    "starts": (
        2,
        lambda p: p.settings(streams="2", starts="0 s, 5 s", duration="15 s", queue=p.queue(0.5, 2)),
    ),
    "jitter": (3, lambda p: p.settings(jitter=_time(p.delay * p.between(0.1, 0.9)), queue=p.queue(1, 2))),
    "reordering": (3, lambda p: p.settings(reorder=_percent(p.between(0.002, 0.05)), queue=p.queue(1, 2))),
    "duplicates": (2, lambda p: p.settings(duplicate=_percent(p.between(0.01, 0.2)), queue=p.queue(1, 2))),
    "losses of ACKs": (3, lambda p: p.settings(reverse_loss=_percent(p.between(0.01, 0.4)))),
    "managed queue": (
        6,
        lambda p: p.settings(
            qdisc=p.choice("codel", "fq_codel", "cake", "red"),
            ecn=p.choice("on", "off"),
            streams=p.choice("1", "2"),
            queue=p.queue(2, 4),
        ),
    ),
    "DCTCP": (
        2,
        lambda p: p.settings(
            algorithm="dctcp", ecn="on", qdisc=p.choice("red", "codel"), queue=p.queue(2, 4)
        ),
    ),
    "segment size": (3, lambda p: p.settings(mss=str(p.whole(500, 1400)), queue=p.queue(1, 2))),
    "offloads": (
        3,
        lambda p: p.settings(offloads="on", loss=p.choice("0 %", _percent(p.between(0.001, 0.01)))),
    ),
    "amount": (
        6,
        lambda p: p.settings(
            bytes=_size(p.between(50e3, 5e6)),
            warmup="0 s",
            duration="20 s",
            queue=p.queue(0.3, 2),
            loss=p.choice("0 %", "0 %", "1 %"),
        ),
    ),
    "change": (8, _change),
    "losses in a row": (
        2,
        lambda p: p.settings(loss=_percent(p.between(0.005, 0.02)), loss_burst=str(p.whole(2, 6))),
    ),
    "slow reverse path": (2, lambda p: p.settings(reverse_rate=_rate(p.rate / 46 * p.between(0.4, 3)))),
    "both ways": (
        2,
        lambda p: p.settings(
            streams="2", directions="forward, reverse", reverse_rate=_rate(p.rate), queue=p.queue(0.5, 2)
        ),
    ),
    "BBR beside a loss-based flow": (3, _bbr_beside),
}
"""What is drawn, and how many of each in a turn of about a hundred."""


def drawn(seed: int, cells: int) -> Iterator[tuple[str, Experiment]]:
    """Yield `cells` experiments: the kinds in turn, each as often as its weight.

    Raises:
        UsageError: A kind gives only experiments that contradict themselves.
    """
    turn = [kind for kind, (weight, _) in KINDS.items() for _ in range(weight)]
    random.Random(f"turn {seed}").shuffle(turn)
    for number in range(cells):
        kind = turn[number % len(turn)]
        chance = random.Random(f"kinds {seed} {number}")
        yield kind, legal(f"kinds/{seed}-{number}", kind, on_path(KINDS[kind][1]), chance)


def on_path(make: Callable[[Path], Settings], path: type[Path] = Path) -> Callable[[random.Random], Settings]:
    """Return a function that draws the settings of a kind, on a path of class `path`."""
    return lambda chance: make(path(chance))


def legal(
    name: str, title: str, draw: Callable[[random.Random], Settings], chance: random.Random
) -> Experiment:
    """Draw settings until they do not contradict themselves, and build their experiment.

    Raises:
        UsageError: All of many draws contradict themselves.
    """

    def built() -> Experiment:
        table = {"title": title, "parameters": draw(chance)}
        if table["parameters"].get("pairs"):
            table["pairs"] = int(table["parameters"].pop("pairs"))
        return spec.build(name, table, seed=chance.getrandbits(32))

    for _ in range(_ATTEMPTS - 1):
        with suppress(UsageError):
            return built()
    return built()


class Judged(msgspec.Struct, frozen=True):
    """One run: its kind, what was expected of it, and what the product says about it."""

    kind: str
    run: Run
    report: Report

    @property
    def is_claimed(self) -> bool:
        """Whether a model claims to know the run's throughput."""
        return bool(self.report.comparisons) and self.report.comparisons[0].prediction.tolerance <= USEFUL

    @property
    def is_within(self) -> bool:
        binding = self.report.comparisons[0]
        return abs(binding.ratio - 1) <= binding.prediction.tolerance

    @property
    def line(self) -> str:
        shown = f"{self.kind}: {units.rate(self.report.throughput_bps)}"
        if self.report.comparisons:
            binding = self.report.comparisons[0]
            sign = "" if not self.is_claimed else "  inside" if self.is_within else "  OUTSIDE"
            sure = f"±{100 * binding.prediction.tolerance:.0f} %"
            shown += f", {binding.prediction.label} x {binding.ratio:.3f} ({sure}){sign}"
        verdict = self.report.verdict
        return f"{shown}; {verdict.limited_by}: {verdict.sentence} [{self.run.fidelity.status}]"


def run(seed: int, cells: int, jobs: int | None) -> int:
    """Run the drawn experiments and print what was found; the exit code is 1 where a sentence is false."""
    chosen = list(drawn(seed, cells))
    experiments = [experiment for _, experiment in chosen]
    where = asyncio.run(pool.find_place(experiments, "guest", "virtual", jobs))
    print(f"{len(chosen)} experiments, {where.why}", flush=True)
    judged: list[Judged] = []
    problems: list[str] = []
    stopped = run_until_signal(_judge_all(chosen, where, judged, problems))
    if stopped is not None:
        raise stopped
    claimed = [one for one in judged if one.is_claimed]
    inside = sum(one.is_within for one in claimed)
    print(
        f"{len(judged)} runs: {len(claimed)} have a binding model with a tolerance of at most {100 * USEFUL:.0f} %, "
        f"{inside} are inside it"
    )
    print(f"{len(problems)} sentences are contradicted by the samples")
    return int(bool(problems))


async def _judge_all(
    chosen: list[tuple[str, Experiment]], where: pool.Place, judged: list[Judged], problems: list[str]
) -> TutorError | None:
    async with aclosing(pool.runs([experiment for _, experiment in chosen], where)) as runs:
        async for number, result in runs:
            kind, experiment = chosen[number]
            if isinstance(result, TutorError):
                print(f"{number}: {kind}: not run: {result}", flush=True)
                continue
            one = Judged(kind, result, report(result))
            judged.append(one)
            print(f"{number}: {one.line}", flush=True)
            print(f"    {_written(experiment)} --seed {experiment.seed}", flush=True)
            for problem in audit.problems(one.run, one.report):
                problems.append(problem)
                print(f"    FALSE: {problem}", flush=True)
    return None


def _written(experiment: Experiment) -> str:
    return " ".join(f"--set {name}={value!r}" for name, value in settings(experiment).items())
