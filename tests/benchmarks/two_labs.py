"""`python -m tests.benchmarks.two_labs FOLDER FOLDER [N]`: two guests, built each by itself, run the same experiments.

The folders are those of `backends.guest.Snapshots`. N experiments are taken, spread over the whole course and cut to a
few seconds; of each, what both labs measured is compared byte by byte.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import aclosing
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.base.errors import KernelLacks
from tcptutor.course.experiments import Catalogue
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Phase

_MOST = 3.0
"""Seconds of an experiment."""


def _experiments(count: int) -> list[Experiment]:
    catalogue = Catalogue(places.lessons())
    names = sorted(catalogue.names)
    spread = names[:: max(1, len(names) // count)][:count]
    return [_short(catalogue.build(name), seed) for seed, name in enumerate(spread, 1)]


def _short(experiment: Experiment, seed: int) -> Experiment:
    flows = replace(experiment.flows, duration=min(experiment.flows.duration, _MOST), warmup=0.0)
    return replace(experiment, flows=flows, seed=seed)


async def _measured(backend: GuestBackend, experiment: Experiment) -> list[bytes]:
    """What the lab said of the run, line by line, but for what it was doing."""
    lines = []
    async with aclosing(backend.run(experiment)) as events:
        async for event in events:
            if not isinstance(event, Phase):
                lines.append(msgspec.json.encode(event))
    return lines


async def main(folders: list[Path], count: int) -> int:
    labs = [Snapshots(folder) for folder in folders]
    backends = [GuestBackend("virtual", lab) for lab in labs]
    equal = 0
    try:
        here, there = [await backend.open() for backend in backends]
        print(f"fingerprints {here.snapshot} and {there.snapshot}")
        made = _experiments(count)
        for experiment in made:
            try:
                one, other = [await _measured(backend, experiment) for backend in backends]
            except KernelLacks as error:
                print(f"{experiment.name}: {error}")
                continue
            same = one == other
            equal += same
            print(
                f"{experiment.name} seed {experiment.seed}: {len(one)} events, {'equal' if same else 'OTHERS'}",
                flush=True,
            )
        print(f"{equal} of {len(made)} equal to the byte")
    finally:
        for backend in backends:
            await backend.close()
    return int(equal != len(made) or here.snapshot != there.snapshot)


if __name__ == "__main__":
    sys.exit(asyncio.run(main([Path(each) for each in sys.argv[1:3]], int((sys.argv[3:] or ["20"])[0]))))
