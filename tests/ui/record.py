"""The runs that the fake lab plays: `python -m tests.ui.record` makes them again, in the guest on the virtual clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.course import load
from tcptutor.run import save
from tests.backends.play import play
from tests.recorded import thinned

COURSE = Path(__file__).parent / "course"
RUNS = Path(__file__).parent / "runs"
"""EXPERIMENT.tcprun, by the experiment's short name."""


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


if __name__ == "__main__":
    asyncio.run(main())
