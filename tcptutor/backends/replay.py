"""The replay backend: recorded runs of the course's experiments, played through the usual interface.

It serves machines where neither kernel nor guest can run an experiment. Its environment is "replay" and names the
date, place and kernel of the recording.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable, TutorError
from tcptutor.run import Environment, Finished, Run, Table, load
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import PARAMETERS
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Phase, Ready, Samples

_Row = TypeVar("_Row", bound=msgspec.Struct)

SPEED = 10.0
"""Playback speed in lab seconds per second, slow enough to watch the window move."""
REQUESTED = "asked for"
"""Reason of a replay that the user requested although a lab may be available."""
_BATCH_S = 0.2
"""Lab time covered by a Samples event, seconds; the same as in the lab."""


def recordings_folder() -> Path:
    """Return the folder of the bundled recordings, which has a subfolder for each module."""
    return places.assets() / "recorded"


def provenance(run: Run) -> str:
    """Describe when and where `run` was recorded."""
    where, day = run.environment, datetime.fromisoformat(run.started).date()
    place = "in the guest" if where.backend == "guest" else "on a host"
    return f"recorded {day} {place}, {where.clock} clock, Linux {where.kernel.partition('+')[0]}"


def same_experiment(first: Experiment, second: Experiment) -> bool:
    """Check that two experiments have the same name, values and seed; titles and sources are ignored."""
    return _without_titles(first) == _without_titles(second)


def _without_titles(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, title="", sources=(), scale="bench")


class ReplayBackend:
    """Backend that plays the recordings in `place`. `reason` explains on the screen why no lab is available."""

    def __init__(self, reason: str, place: Path | None = None, speed: float | None = None) -> None:
        self._reason, self._folder, self._speed = reason, place, speed or SPEED
        self._names: dict[Path, str] = {}
        """Experiment name of each recording loaded so far."""

    async def open(self, on_build: Callable[[], object] = lambda: None) -> Environment:  # noqa: ARG002
        """Return the environment of the first recording; each run reports its own.

        Raises LabUnavailable without recordings.
        """
        run = await asyncio.to_thread(lambda: next(self._recordings("*"), None))
        if run is None:
            raise self._unavailable("this installation has no recorded runs")
        return self._environment(run)

    async def describe(self, on_build: Callable[[], object] = lambda: None) -> Environment:
        return await self.open(on_build)

    def _recordings(self, module: str, name: str = "") -> Iterator[Run]:
        """Yield the recordings of a module, or of an experiment of the module; damaged files are skipped."""
        root = self._folder or recordings_folder()
        for path in sorted(root.glob(f"{module}/**/*.tcprun")):
            if name and self._names.get(path, name) != name:
                continue
            try:
                run = load(path)
            except TutorError:
                continue
            self._names[path] = run.experiment.name
            if not name or run.experiment.name == name:
                yield run

    def _environment(self, run: Run) -> Environment:
        where = run.environment
        recorded = provenance(run)
        return msgspec.structs.replace(
            where,
            backend="replay",
            versions={**where.versions, "recorded": recorded},
            reason=f"a replay of a run {recorded}: {self._reason}",
        )

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        recorded = await asyncio.to_thread(self.find, experiment)
        yield Ready(protocol.VERSION, self._environment(recorded))
        yield Phase("replay", f"playing a run {provenance(recorded)}")
        loop = asyncio.get_running_loop()
        began = loop.time()
        for event in playback(recorded):
            if isinstance(event, Samples):
                await asyncio.sleep(max(0.0, began + event.t / self._speed - loop.time()))
            yield event

    def find(self, experiment: Experiment) -> Run:
        """Return the recording of `experiment`; a LabUnavailable lists the values that are recorded. Blocks."""
        others = []
        for run in self._recordings(experiment.name.partition("/")[0], experiment.name):
            if same_experiment(run.experiment, experiment):
                return run
            others.append(run.experiment)
        raise self._unavailable(_refusal(experiment, others))

    def _unavailable(self, problem: str) -> LabUnavailable:
        return LabUnavailable(problem if self._reason == REQUESTED else f"{self._reason}; and {problem}")

    def session(self, experiment: Experiment, trap: str = "") -> NoReturn:  # noqa: ARG002
        raise self._unavailable(f"a recording of {experiment.name} has no terminal")

    async def close(self) -> None:
        """Do nothing: a replay holds no resources."""


def playback(run: Run) -> Iterator[Samples | Finished]:
    """Yield the events from which `run` grows again, in order of time."""
    rows, queue, acks, senders, udp, retransmissions, second = (
        _rows_by_batch(table)
        for table in (
            run.samples,
            run.queue,
            run.acks,
            run.senders,
            run.udp_samples,
            run.retransmissions,
            run.queue_second,
        )
    )
    for step in sorted({*rows, *udp}):
        mine, datagrams = rows.get(step, ()), udp.get(step, ())
        last = max(row.t for row in (*mine[-1:], *datagrams[-1:]))
        yield Samples(
            last,
            mine,
            queue.get(step, ()),
            acks.get(step, ()),
            senders.get(step, ()),
            datagrams,
            retransmissions.get(step, ()),
            second.get(step, ()),
        )
    yield Finished(tuple(run.flows), run.fidelity, run.experiment_s, run.complete, tuple(run.udp))


def _rows_by_batch(table: Table[_Row]) -> dict[int, tuple[_Row, ...]]:
    times = table.column("t")
    batches: dict[int, list[_Row]] = {}
    for t, row in zip(times, table, strict=True):
        batches.setdefault(int(t / _BATCH_S), []).append(row)
    return {step: tuple(rows) for step, rows in batches.items()}


def _refusal(wanted: Experiment, recorded: list[Experiment]) -> str:
    if not recorded:
        return f"there is no recorded run of {wanted.name}"
    requested = _values(wanted)
    differences = (
        ", ".join(f"{name} {text}" for name, text in _values(each).items() if text != requested.get(name))
        for each in recorded
    )
    return f"{wanted.name} is not recorded with these values, only with {'; or '.join(differences)}"


def _values(experiment: Experiment) -> dict[str, str]:
    values = {name: known.text(known.of(experiment)) for name, known in PARAMETERS.items()}
    return {**values, "seed": str(experiment.seed)}
