"""The runs that the fake lab plays: `python -m tests.ui.record` makes them again, in the guest on the virtual clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.course import load
from tcptutor.run import save
from tests.backends.play import play
from tests.recorded import cell, cells, thinned

COURSE = Path(__file__).parent / "course"
RUNS = Path(__file__).parent / "runs"
"""EXPERIMENT.tcprun, by the experiment's short name."""
EXAMPLES = Path(__file__).parents[1] / "course" / "examples"
SWEPT = Path(__file__).parent / "swept"
"""The runs of the sweep of the examples' course, VALUE-SEED.tcprun, the values counted from 1."""


async def main() -> None:
    for module in load(COURSE).modules:
        for name, experiment in module.experiments.items():
            backend = GuestBackend("virtual")
            try:
                run = await play(backend, experiment)
            finally:
                await backend.close()
            save(thinned(run), RUNS / f"{name.partition('/')[2]}.tcprun")
            print(name, run.fidelity, f"{run.wall_s:.0f} s", flush=True)
    for step in (step for module in load(EXAMPLES).modules for step in module.steps if step.sweep):
        for name, (at, experiment) in cells(step.sweep).items():
            backend = GuestBackend("virtual")
            try:
                save(cell(step.sweep, at, await play(backend, experiment)), SWEPT / f"{name}.tcprun")
            finally:
                await backend.close()


if __name__ == "__main__":
    asyncio.run(main())
