"""How long an event loop is blocked while a run of 16 flows, 65 s and 100 samples a second is finished, opened again
and explained, in threads of the same program.

The clock is the processor time of the program: what other programs take of the machine does not count.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from array import array
from collections.abc import Awaitable
from pathlib import Path

from tcptutor.run import QueueSample, QueueTable, Run
from tcptutor.runs.store import RunStore
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.panel import layout
from tests.analysis import synthetic

FLOWS, SECONDS, HZ = 16, 65, 100
_FASTER = HZ // synthetic.HZ
_ROUNDS = 3


def long_run() -> Run:
    """Lossy flows; times and RTTs have the digits that differences of clocks have."""
    made = synthetic.experiment(streams=str(FLOWS), duration=f"{SECONDS - 5} s", warmup="5 s", loss="0.1 %")
    # Made for a longer time, which then goes faster.
    state = {**synthetic.losing(3), "busy": lambda t: t / _FASTER}
    run = synthetic.run_of(made, *[1e6] * FLOWS, until=SECONDS * _FASTER, **state)
    chance = random.Random(1)
    for name, scale in (("t", 1 / _FASTER), ("rtt", 1.0), ("rto", 1.0)):
        column = run.samples.column(name)
        column[:] = array("d", [value * scale + chance.random() * 1e-6 for value in column])
    run.queue = QueueTable(QueueSample(tick / HZ, 1500, 1, 0, tick * 1000) for tick in range(SECONDS * HZ))
    run.complete, run.experiment_s = True, float(SECONDS)
    return run


def longest_blocks() -> dict[str, float]:
    """Processor time between two turns of the loop, s, the longest of each work; the median of some rounds."""
    run = long_run()
    rounds = [asyncio.run(_round(run)) for _ in range(_ROUNDS)]
    return {work: sorted(each[work] for each in rounds)[_ROUNDS // 2] for work in rounds[0]}


async def _round(run: Run) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        return {
            "finished": await _longest(asyncio.to_thread(store.finish, run)),
            "opened": await _longest(background.first_readable([str(store.file(run.id))])),
            "recalled": await _longest(background.recall("", "", run)),
            "explained": await _longest(background.report(run)),
            "drawn": await _longest(asyncio.to_thread(_drawn, await background.recall("", "", run))),
        }


def _drawn(live: Live) -> None:
    """From the first look at its samples to the lines of a panel."""
    history = History(live.run.experiment.seconds)
    history.follow(live.run)
    layout.render(live, history, None, "", "chart", 110, 47)


async def _longest(work: Awaitable[object]) -> float:
    done = asyncio.ensure_future(work)
    longest, before = 0.0, time.process_time()
    while not done.done():
        await asyncio.sleep(0.001)
        now = time.process_time()
        longest, before = max(longest, now - before), now
    await done
    return longest
