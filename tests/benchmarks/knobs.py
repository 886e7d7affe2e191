"""How long it takes from the key that turns a knob of the bench to what is then to be expected, on the screen.

The knobs of drawn experiments of the course are turned at random, one after the other. The clock is the processor time
of the program, all its threads together: what other programs take of the machine does not count.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import cast

from textual import events
from textual.pilot import Pilot

from tcptutor.backends.lab import Lab
from tcptutor.course import load
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.workbench import WorkbenchScreen
from tcptutor.ui.widgets.workbench.panel import WorkbenchPanel
from tcptutor.ui.workbench import Workbench

_EXPERIMENTS, _TURNS = 16, 12


def turns(size: tuple[int, int] = (120, 36), seed: int = 1) -> list[float]:
    """Seconds of each turn that made other settings of an experiment that can be run."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_turns(Path(folder), size, random.Random(seed)))


async def _turns(folder: Path, size: tuple[int, int], chance: random.Random) -> list[float]:
    journal = Journal.open(folder / "journal.db")
    app = TutorApp(load(), journal, lambda: Lab("replay"))
    found = []
    async with app.run_test(size=size) as pilot:
        await pilot.press("e")
        while not isinstance(app.screen, WorkbenchScreen):
            await pilot.pause(0.05)
        panel = app.screen.query_one(WorkbenchPanel)
        bench = cast("Workbench", app.workbench)
        names = chance.choices([name for name, _ in bench.experiment_titles()], k=_EXPERIMENTS)
        for name in names:
            bench.use_experiment(name)
            app.screen.settings_changed()
            await _shown(panel, bench)
            for _ in range(_TURNS):
                app.screen.action_move(chance.randrange(40))
                await pilot.pause(0.05)
                seconds = await _turn(pilot, panel, bench, chance.choice(("left", "right")))
                if bench.problem is not None:
                    bench.reset(bench.selected)
                elif seconds is not None:
                    found.append(seconds)
    journal.close()
    return found


async def _turn(pilot: Pilot[None], panel: WorkbenchPanel, bench: Workbench, key: str) -> float | None:
    """None where the key changed nothing that could be run."""
    before, pressed = bench.experiment, time.process_time()
    pilot.app.post_message(events.Key(key, None))
    await pilot.pause(0.02)
    if bench.experiment == before:
        return None
    await _shown(panel, bench)
    return time.process_time() - pressed


async def _shown(panel: WorkbenchPanel, bench: Workbench) -> None:
    """Until all of it is drawn; a look every millisecond takes hardly any of the processor's time."""
    while not (panel.forecast and panel.forecast.experiment == bench.experiment and panel.is_idle):  # noqa: ASYNC110
        await asyncio.sleep(0.001)
