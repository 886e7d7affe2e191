"""Drawn experiments run on the guest's virtual clock, kept as lines of JSON, and scored without running them again.

`python -m tests.validation.meeting --seed 7 --count 100 --out FILE` runs what FILE does not have yet and tells how many
of them the binding model explains; `--score` only tells.
"""

from __future__ import annotations

import argparse
import gzip
import math
import statistics
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from tcptutor import spec
from tcptutor.analysis import expect, measure, report
from tcptutor.analysis.expected.prediction import Expectation
from tcptutor.backends.programs import run_until_signal
from tcptutor.base.errors import TutorError
from tcptutor.fleet import pool
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tests.validation import drawn

MOST_TOLERANCE = 0.5
"""A model that allows more explains nothing."""


class Kept(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a drawn run."""

    kind: str
    experiment: Experiment
    throughput_bps: float
    flows_bps: tuple[float, ...]
    losses: int
    """Loss events of all flows."""
    retransmits: int
    mean_rtt_s: float
    mean_cwnd_segments: float
    mss: int
    rto_s: float | None
    """As `report` takes it from the samples."""
    limited_by: str
    fidelity: str

    @property
    def settings(self) -> str:
        shown = spec.settings(self.experiment)
        return ", ".join(f"{name}={value}" for name, value in shown.items())


def kept(one: drawn.Drawn, run: Run) -> Kept:
    measured = measure(run)
    result = report(measured.run, measured)
    flows = measured.flows
    timeouts = [each.mean("rto") for each in measured.intervals]
    return Kept(
        kind=one.kind,
        experiment=one.experiment,
        throughput_bps=round(result.throughput_bps, 1),
        flows_bps=tuple(round(flow.throughput_bps, 1) for flow in flows),
        losses=result.loss_events,
        retransmits=result.retransmits,
        mean_rtt_s=_mean(flow.mean_rtt_s for flow in flows),
        mean_cwnd_segments=_mean(flow.mean_cwnd_segments for flow in flows),
        mss=max((flow.mss for flow in flows), default=0),
        rto_s=round(statistics.fmean(timeouts), 5) if timeouts and min(timeouts) > 0 else None,
        limited_by=result.verdict.limited_by,
        fidelity=run.fidelity.status,
    )


def _mean(values: Iterable[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return float(f"{statistics.fmean(finite):.6g}") if finite else 0.0


def read(path: Path) -> list[Kept]:
    if not path.exists():
        return []
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [msgspec.json.decode(line, type=Kept) for line in text.splitlines()]


async def _run(todo: Sequence[drawn.Drawn], path: Path, jobs: int | None) -> TutorError | None:
    experiments = [one.experiment for one in todo]
    where = await pool.find_place(experiments, "guest", "virtual", jobs)
    first: TutorError | None = None
    try:
        async with aclosing(pool.runs(experiments, where)) as runs:
            async for number, result in runs:
                one = todo[number]
                if isinstance(result, TutorError):
                    print(f"{one.experiment.name}: {result}", flush=True)
                    first = first or result
                    continue
                made = kept(one, result)
                with gzip.open(path, "ab") if path.suffix == ".gz" else path.open("ab") as file:
                    file.write(msgspec.json.encode(made) + b"\n")
                print(f"{one.experiment.name}: {line(made)}, {result.wall_s:.0f} s", flush=True)
    except TutorError as error:
        return error
    return first


class Score(msgspec.Struct, frozen=True):
    """One kept run beside what is expected of it."""

    run: Kept
    expectation: Expectation

    @property
    def ratio(self) -> float:
        """Measured over predicted by the binding model."""
        return self.run.throughput_bps / self.expectation.binding.throughput_bps

    @property
    def withdrawn(self) -> bool:
        """Whether nothing is promised: a tolerance of 100 %, and a note that says why."""
        return self.expectation.binding.tolerance >= 1

    @property
    def within(self) -> bool:
        tolerance = self.expectation.binding.tolerance
        return abs(self.ratio - 1) <= tolerance <= MOST_TOLERANCE


def score(one: Kept) -> Score:
    return Score(one, expect(one.experiment, one.mss or None, one.rto_s))


def line(one: Kept) -> str:
    scored = score(one)
    binding = scored.expectation.binding
    told = "" if scored.within else "  withdrawn" if scored.withdrawn else "  MISSED"
    return (
        f"{one.kind}: {one.settings}: {one.throughput_bps / 1e6:.3f} Mbit/s, {binding.model} "
        f"{binding.throughput_bps / 1e6:.3f} ±{binding.tolerance:.0%}, {scored.ratio - 1:+.1%}, "
        f"{one.losses} losses{told}"
    )


def table(scores: Sequence[Score]) -> Iterator[str]:
    """Lines of a table: how many are within, by kind and by algorithm, with the median ratio."""
    valid = [one for one in scores if one.run.fidelity == "valid" and one.run.throughput_bps > 0]
    kinds = {f"kind: {one.run.kind}" for one in valid}
    algorithms = {f"algorithm: {_algorithm(one.run)}" for one in valid}
    yield "| | within | of | of them withdrawn | median error | median tolerance | bias |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for name in [*sorted(kinds), *sorted(algorithms), "all"]:
        mine = [
            one
            for one in valid
            if name in (f"kind: {one.run.kind}", f"algorithm: {_algorithm(one.run)}", "all")
        ]
        errors = [abs(one.ratio - 1) for one in mine]
        sure = statistics.median(one.expectation.binding.tolerance for one in mine)
        bias = math.exp(statistics.median(math.log(one.ratio) for one in mine)) - 1
        inside = sum(one.within for one in mine)
        withdrawn = sum(one.withdrawn for one in mine)
        yield (
            f"| {name} | {inside} | {len(mine)} | {withdrawn} | {statistics.median(errors):.1%} | {sure:.0%} "
            f"| {bias:+.1%} |"
        )


def _algorithm(one: Kept) -> str:
    return ", ".join(one.experiment.congestion_controls)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.validation.meeting", description=__doc__)
    parser.add_argument("--set", choices=sorted(drawn.SETS), default="meeting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--score", action="store_true", help="only score what is kept")
    parser.add_argument("-j", "--jobs", type=int, help="guests at a time (one for each core)")
    asked = parser.parse_args()
    if not asked.score:
        there = {one.experiment.name for one in read(asked.out)}
        every = drawn.draw(asked.set, asked.seed, asked.count)
        todo = [one for one in every if one.experiment.name not in there]
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        if todo and (problem := run_until_signal(_run(todo, asked.out, asked.jobs))) is not None:
            print(f"meeting: {problem}", file=sys.stderr)
            return problem.exit_code
    scores = [score(one) for one in read(asked.out)]
    for one in scores:
        if not one.within:
            print(line(one.run))
    print("\n".join(table(scores)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
