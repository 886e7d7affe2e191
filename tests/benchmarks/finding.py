"""Typing into the find box, over the whole course and 1,000 runs: a key to its results, processor time."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import replace
from pathlib import Path

from textual import events
from textual.app import App
from textual.widgets import Input

from tcptutor.backends.lab import Lab
from tcptutor.course import load
from tcptutor.history.listing import ListedRun, RunPage
from tcptutor.history.summary import RunSummary
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tcptutor.ui.found_runs import run_entries
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.find import FindScreen

RUNS = 1000
QUERIES = (
    "window", "round trip", "bandwidth-delay product", "what the tools hide", "cwnd", "queue", "throughput mbit",
    "slow start", "the sender", "rate 10 mbit", "random loss", "1.9", "mathis", "r", "receiver window limit", "zzz",
)  # fmt: skip


def runs() -> list[ListedRun]:
    """Runs of all pages in turn, each with two settings of its own."""
    course = load()
    pages = [
        (RunPage(module.id, step.id, f"{module.number}.{number}"), experiment)
        for module in course.modules
        for number, step in enumerate(module.steps, 1)
        if (experiment := step.experiment or step.sweep)
    ]
    found = []
    for number in range(RUNS):
        page, experiment = pages[number % len(pages)]
        id = f"20260101-{number // 3600:02}{number // 60 % 60:02}{number % 60:02}-{number:04}"
        summary = RunSummary(
            id=id, started=f"2026-01-{1 + number % 28:02}T12:00:00+00:00", experiment=experiment.name,
            settings={"rate": f"{number} Mbit/s", "delay": f"{number % 90} ms"}, seed=number,
            throughput_bps=1e6 * (1 + number), udp_bps=None, limited_by="random-loss", fidelity="valid", complete=True,
            backend="guest",
        )  # fmt: skip
        listed = ListedRun(Path(f"{id}.tcprun"), summary, page)
        found.append(replace(listed, name=f"run {number}") if number % 10 == 0 else listed)
    return found


async def _measure() -> list[float]:
    app = TutorApp(load(), Journal.in_memory(), lambda: Lab("replay", "virtual"))
    took: list[float] = []
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.pause(2)
        home = app.screen
        assert isinstance(home, TutorScreen)
        await pilot.press("slash")
        await pilot.pause(1)
        screen = app.screen
        assert isinstance(screen, FindScreen)
        screen.add_entries(run_entries(home, runs()))
        field = screen.query_one(Input)
        for query in QUERIES:
            field.value = ""
            await pilot.pause()
            for letter in query:
                took.append(await _typed(app, field, letter))
    return took


async def _typed(app: App[object], field: Input, letter: str) -> float:
    """Processor time from a key until its results are drawn, s."""
    drawn = asyncio.Event()
    before = field.value
    began = time.process_time()
    app.post_message(events.Key("space" if letter == " " else letter, letter))
    while field.value == before:  # noqa: ASYNC110  # Textual has no event for it
        await asyncio.sleep(0)
    app.screen.call_after_refresh(drawn.set)
    await drawn.wait()
    return time.process_time() - began


def late_key() -> float:
    """The 95th percentile, s."""
    return statistics.quantiles(asyncio.run(_measure()), n=20)[-1]


if __name__ == "__main__":
    print(f"{late_key() * 1000:.1f} ms")
