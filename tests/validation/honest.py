"""Honest runs that the grader's rules of physics call impossible: `python -m tests.validation honest` counts them.

It draws runs as students make them: a page, an identity with its variant and seeds, the page's run, a cell of its sweep
or an attempt at its challenge. Most are shortened, with all that happens during them. Every run is kept whole in the
folder honest-runs of the cache, so that changed rules are checked without running anything again; the count is of all
that are kept, and of those in folders given with `--folder`, such as the cache of `tcptutor lint --run`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import aclosing
from pathlib import Path

from msgspec.structs import replace

from tcptutor.backends.events import EventReader, Recording, failure
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.programs import run_until_signal
from tcptutor.base import places
from tcptutor.base.errors import LabError, TutorError
from tcptutor.course import load as load_course
from tcptutor.course import personal
from tcptutor.course.outline import Module
from tcptutor.course.personal import SEEDS
from tcptutor.course.step import Step
from tcptutor.fleet.run_cache import RunCache
from tcptutor.grading.evidence.physics import impossibilities
from tcptutor.run import Finished, Run, load
from tcptutor.spec import Experiment
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Failed, RunExperiment
from tests.validation.hostqueues import shortened

FOLDER = "honest-runs"
"""Folder of the cache in which whole runs are kept."""
SHORT, LONG = (2.2, 0.5), (4.0, 4.0)
"""Seconds of traffic that a run is not cut below, and seconds of a core that it may then take."""
_LONG_SHARE = 0.1
_RUNS_PER_GUEST = 100
_SILENCE = 600.0
"""Seconds without an event after which a guest counts as dead."""
_MOST_ATTEMPTS = 5
_LEVEL = 0.95


def drawn(seed: int, count: int) -> Iterator[Experiment]:
    """Yield `count` runs as students make them; the same seed gives the same runs."""
    runs = [
        ((module, step), len(_choices(step, random.Random(0))))
        for module in load_course().modules
        for step in module.steps
    ]
    pages = [page for page, number in runs if number]
    slots = [page for page, number in runs for _ in range(number)]
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        module, shared = chance.choice(chance.choice((pages, slots)))
        identity = personal.identity("honest", f"student {chance.randrange(10**6)}")
        experiment = chance.choice(_choices(shared.for_student(module.id, identity), chance))
        if shared.sweep is None:
            experiment = replace(experiment, seed=_seed(module, shared, identity, chance))
        yield shortened(experiment, *(LONG if chance.random() < _LONG_SHARE else SHORT))


def _choices(step: Step, chance: random.Random) -> list[Experiment]:
    if step.sweep is not None:
        return [experiment for _, experiment in step.sweep.cells()]
    if step.challenge is not None:
        turned = [knob for knob in step.challenge.solution if chance.random() < 0.5]
        return [step.challenge.experiment, step.challenge.with_solution(tuple(turned))]
    return [] if step.experiment is None else [step.experiment.experiment]


def _seed(module: Module, step: Step, identity: str, chance: random.Random) -> int:
    first = personal.run_seed(identity, module.id, step.id)
    return (first + chance.randrange(_MOST_ATTEMPTS)) % SEEDS


class Guest(GuestBackend):
    """A guest on the virtual clock that makes one run after another: a fresh copy for each takes twice as long."""

    def __init__(self) -> None:
        super().__init__("virtual")

    async def runs(self, experiments: Sequence[Experiment]) -> AsyncGenerator[Run, None]:
        """Yield the runs; an experiment that fails ends them. Raises LabError."""
        environment = await self.open()
        machine = await self._take_idle_machine()
        try:
            for number, experiment in enumerate(experiments):
                request = protocol.line(RunExperiment(experiment))
                if number:
                    machine.send(request)
                else:
                    await machine.submit(request)
                recording, reading = Recording(experiment, environment), EventReader()
                event: Event | None = None
                while not isinstance(event, Finished):
                    event = await reading.read(await self._event(machine, _SILENCE))
                    if isinstance(event, Failed):
                        raise failure(event)
                    recording.take(event)
                yield recording.run
        finally:
            await self._end(machine)


def run(seed: int, count: int, folders: Sequence[Path]) -> int:
    """Make what is missing of `count` drawn runs, and check all that are kept.

    The exit code is 1 if any is impossible.
    """
    cache = RunCache(folder=places.cache() / FOLDER)
    missing = [experiment for experiment in drawn(seed, count) if not cache.has(experiment)]
    stopped = run_until_signal(make(missing, cache)) if missing else None
    if stopped is not None:
        print(f"stopped: {stopped}")
    return check([places.cache() / FOLDER, *folders])


async def make(missing: Sequence[Experiment], cache: RunCache) -> TutorError | None:
    """Make runs, many in a guest, and keep them; what fails is left out. Return why it was stopped."""
    print(f"{len(missing)} runs to make", flush=True)
    guest, waiting = Guest(), list(missing)
    try:
        while waiting:
            some = waiting[:_RUNS_PER_GUEST]
            try:
                async with aclosing(guest.runs(some)) as runs:
                    async for made in runs:
                        cache.put(waiting.pop(0), made)
            except TutorError as error:
                print(f"{waiting.pop(0).name}: {error}", flush=True)
    except asyncio.CancelledError:
        return LabError(f"{len(waiting)} runs are missing")
    finally:
        await guest.close()
    return None


def check(folders: Sequence[Path]) -> int:
    """Check all runs in the folders and print those that break a rule, and the rate."""
    files = sorted({path.name: path for folder in folders for path in folder.rglob("*.tcprun")}.values())
    broken = flows = checked = 0
    with ProcessPoolExecutor() as workers:
        for path, (count, found) in zip(files, workers.map(_check, files, chunksize=16), strict=True):
            checked, flows = checked + (count >= 0), flows + max(0, count)
            broken += bool(found)
            for problem in found:
                print(f"{path}: {problem}")
    print(
        f"{broken} of {checked} honest runs ({flows} flows) break a rule: {broken / max(1, checked):.3%},"
        f" at most {upper_bound(broken, checked):.3%} ({_LEVEL:.0%} confidence)"
    )
    return int(broken > 0)


def _check(path: Path) -> tuple[int, list[str]]:
    """Return the number of flows, and what is impossible; -1 for a run that grading does not check."""
    try:
        run = load(path)
    except TutorError:
        return -1, []
    if not run.complete:
        return -1, []
    name = f"{run.experiment.name} (seed {run.experiment.seed}, {run.fidelity.status})"
    return len(run.flows), [f"{name}: {problem}" for problem in impossibilities(run)]


def upper_bound(broken: int, checked: int) -> float:
    """Return the one-sided upper bound of a share, after Clopper and Pearson, at the level of `_LEVEL`."""
    if broken >= checked:
        return 1.0
    low, high = broken / checked, 1.0
    for _ in range(60):
        share = (low + high) / 2
        term = total = (1 - share) ** checked
        for hits in range(1, broken + 1):
            term *= (checked - hits + 1) / hits * share / (1 - share)
            total += term
        low, high = (share, high) if total > 1 - _LEVEL else (low, share)
    return high
