"""Run every experiment of the course and count retransmissions that the sender's own kernel withheld.

`python -m tests.validation hostqueues` prints, for each experiment, `TCPSpuriousRtxHostQueues` of all hosts together
and the retransmissions of its flows. The counter moves where the sender still sees the first copy of a segment in a
queue of the lab; no sender on a real path can, so it has to be 0, or the run has to say so. Long experiments are cut.
`--kind jitter` runs those with such a name, each with the settings of its pages as well.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from msgspec.structs import replace

from tcptutor.analysis import expect
from tcptutor.backends.programs import run_until_signal
from tcptutor.base.errors import TutorError
from tcptutor.course import load
from tcptutor.fleet import pool
from tcptutor.run import Run
from tcptutor.spec import Experiment

LEAST_SECONDS = 10.0
"""Seconds of traffic that no experiment is cut below."""

WALL_SECONDS = 15.0
"""Seconds of a core that a cut experiment may take."""

_AFTER_CHANGE = 4.0
"""Seconds that are left after the last change of the path or start of a flow."""

_COUNTER = "TCPSpuriousRtxHostQueues"


def withheld(run: Run) -> int:
    """Return how many retransmissions the kernels of all hosts withheld."""
    checks = run.fidelity.checks.items()
    return sum(int(value) for name, value in checks if name.endswith(_COUNTER))


def is_disclosed(run: Run) -> bool:
    """Return whether a run in which retransmissions were withheld is not called valid."""
    return run.fidelity.status != "valid" and any("withheld" in reason for reason in run.fidelity.reasons)


def shortened(experiment: Experiment, least: float = LEAST_SECONDS, wall: float = WALL_SECONDS) -> Experiment:
    """Return `experiment`, cut to about `wall` seconds of a core but not below `least` seconds of traffic.

    All changes of the path and starts of flows stay.
    """
    events = [change.at for change in experiment.path.changes]
    events += [experiment.start(flow) for flow in range(experiment.total_streams)]
    last = max(events, default=0.0)
    needed = max(least, last + _AFTER_CHANGE if last else 0.0)
    throughput = expect(experiment).binding.throughput_bps if experiment.total_streams else 0.0
    cost = pool.run_seconds(experiment, "virtual", throughput) / experiment.seconds
    seconds = min(experiment.seconds, max(needed, wall / cost))
    warmup = min(experiment.flows.warmup, seconds / 2)
    flows = replace(experiment.flows, warmup=warmup, duration=seconds - warmup)
    return replace(experiment, flows=flows)


def chosen(kind: str = "") -> list[Experiment]:
    """Return every experiment of the course with TCP flows; of those named with `kind` also what pages make of them."""
    course = load()
    files = [one for module in course.modules for one in module.experiments.values()]
    pages = [one for module in course.modules for step in module.steps for one in step.experiments]
    different: list[Experiment] = []
    for one in [*files, *(pages if kind else [])]:
        if one.total_streams and kind in one.name and one not in different:
            different.append(one)
    return different


def run(jobs: int | None, cells: int | None = None, kind: str = "") -> int:
    """Print the counter of every experiment; the exit code is 1 where it moved and the run does not say so."""
    experiments = [shortened(one) for one in chosen(kind)][:cells]
    where = asyncio.run(pool.find_place(experiments, "guest", "virtual", jobs))
    print(f"{len(experiments)} experiments, {where.why}", flush=True)
    counted: list[Run] = []
    failed: list[str] = []
    stopped = run_until_signal(_count(experiments, where, counted, failed))
    if stopped is not None:
        raise stopped
    moved = [one for one in counted if withheld(one)]
    hidden = [one for one in moved if not is_disclosed(one)]
    print(
        f"{len(counted)} runs: {_COUNTER} is 0 in {len(counted) - len(moved)}, "
        f"{len(moved) - len(hidden)} say that it is not, {len(hidden)} hide it; {len(failed)} failed"
    )
    return int(bool(hidden or failed))


async def _count(
    experiments: list[Experiment], where: pool.Place, counted: list[Run], failed: list[str]
) -> TutorError | None:
    async with aclosing(pool.runs(experiments, where)) as runs:
        async for number, result in runs:
            experiment = experiments[number]
            if isinstance(result, TutorError):
                failed.append(experiment.name)
                print(f"{experiment.name}: not run: {result}", flush=True)
                continue
            counted.append(result)
            again = sum(flow.retransmits or 0 for flow in result.flows)
            status = result.fidelity.status
            print(
                f"{experiment.name:45} {experiment.seconds:5.1f} s  withheld {withheld(result):4}"
                f"  retransmitted {again:6}  [{status}]",
                flush=True,
            )
    return None
