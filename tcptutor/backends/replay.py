"""The replay backend: recorded runs of the course's experiments, played through the same interface.

For machines where neither kernel nor guest can run an experiment. What it gives says so: its environment is "replay",
with when, where and on which kernel the run was recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from datetime import datetime
from pathlib import Path
from typing import NoReturn, TypeVar

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable, TutorError
from tcptutor.run import Environment, Run, Table, load
from tcptutor.run.ended import Finished
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import PARAMETERS
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Phase, Ready, Samples

_Row = TypeVar("_Row", bound=msgspec.Struct)

SPEED = 10.0
"""Lab seconds played in a second, so that a student still sees the window move."""
ASKED = "asked for"
"""The reason of a replay that was not taken for want of a lab."""
_BATCH_S = 0.2
"""Lab time of one Samples event, as the lab has it."""


def folder() -> Path:
    """Where the recordings that ship with us are: a folder for each module."""
    return places.assets() / "recorded"


def provenance(run: Run) -> str:
    """When and where `run` was recorded."""
    where, day = run.environment, datetime.fromisoformat(run.started).date()
    place = "in the guest" if where.backend == "guest" else "on a host"
    return f"recorded {day} {place}, {where.clock} clock, Linux {where.kernel.partition('+')[0]}"


def same(one: Experiment, other: Experiment) -> bool:
    """Whether both are the same to the lab: name, values and seed, whatever their titles say."""
    return _of_the_lab(one) == _of_the_lab(other)


def _of_the_lab(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, title="", sources=(), scale="bench")


class ReplayBackend:
    """Plays the recordings in `place`. `reason` says why there is no lab, for the screen."""

    def __init__(self, reason: str, place: Path | None = None, speed: float | None = None) -> None:
        self._reason, self._folder, self._speed = reason, place, speed or SPEED
        self._names: dict[Path, str] = {}
        """The experiment of each recording that was looked into."""

    async def open(self) -> Environment:
        """The environment of one recording; each run then tells its own. Raises LabUnavailable without any."""
        run = await asyncio.to_thread(lambda: next(self._recordings("*"), None))
        if run is None:
            raise self._without("this installation has no recorded runs")
        return self._environment(run)

    def _recordings(self, module: str, name: str = "") -> Iterator[Run]:
        """Those of a module, or of one of its experiments."""
        root = self._folder or folder()
        for path in sorted(root.glob(f"{module}/**/*.tcprun")):
            if name and self._names.get(path, name) != name:
                continue
            try:
                run = load(path)
            except TutorError:
                continue  # a damaged one is as good as none
            self._names[path] = run.experiment.name
            if not name or run.experiment.name == name:
                yield run

    def _environment(self, run: Run) -> Environment:
        where = run.environment
        told = provenance(run)
        return msgspec.structs.replace(
            where,
            backend="replay",
            versions={**where.versions, "recorded": told},
            reason=f"a replay of a run {told}: {self._reason}",
        )

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        recorded = await asyncio.to_thread(self._find, experiment)
        yield Ready(protocol.VERSION, self._environment(recorded))
        yield Phase("replay", f"playing a run {provenance(recorded)}")
        loop = asyncio.get_running_loop()
        began = loop.time()
        for event in _events(recorded):
            await asyncio.sleep(max(0.0, began + event.t / self._speed - loop.time()))
            yield event
        yield Finished(
            tuple(recorded.flows),
            recorded.fidelity,
            recorded.experiment_s,
            recorded.complete,
            tuple(recorded.udp),
        )

    def _find(self, experiment: Experiment) -> Run:
        """The recording of `experiment`. Raises LabUnavailable, which says what is recorded instead."""
        others = []
        for run in self._recordings(experiment.name.partition("/")[0], experiment.name):
            if same(run.experiment, experiment):
                return run
            others.append(run.experiment)
        raise self._without(_refusal(experiment, others))

    def _without(self, what: str) -> LabUnavailable:
        return LabUnavailable(what if self._reason == ASKED else f"{self._reason}; and {what}")

    def session(self, experiment: Experiment, trap: str = "") -> NoReturn:  # noqa: ARG002
        raise self._without(f"a recording of {experiment.name} has no terminal")

    async def close(self) -> None:
        """There is nothing to end."""


def _events(run: Run) -> Iterator[Samples]:
    """The samples in batches as the lab sends them."""
    rows, queue, acks, senders, udp, resent = (
        _batches(table)
        for table in (run.samples, run.queue, run.acks, run.senders, run.udp_samples, run.resent)
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
            resent.get(step, ()),
        )


def _batches(table: Table[_Row]) -> dict[int, tuple[_Row, ...]]:
    """The rows by the fifth of a second that they belong to."""
    times = table.column("t")
    found: dict[int, list[_Row]] = {}
    for t, row in zip(times, table, strict=True):
        found.setdefault(int(t / _BATCH_S), []).append(row)
    return {step: tuple(rows) for step, rows in found.items()}


def _refusal(wanted: Experiment, recorded: list[Experiment]) -> str:
    if not recorded:
        return f"there is no recorded run of {wanted.name}"
    asked = _values(wanted)
    differences = (
        ", ".join(f"{name} {text}" for name, text in _values(each).items() if text != asked.get(name))
        for each in recorded
    )
    return f"{wanted.name} is not recorded with these values, only with {'; or '.join(differences)}"


def _values(experiment: Experiment) -> dict[str, str]:
    values = {name: known.text(known.of(experiment)) for name, known in PARAMETERS.items()}
    return {**values, "seed": str(experiment.seed)}
