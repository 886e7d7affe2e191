"""The fake at the app's one boundary: a lab that plays what the real one gave."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from tcptutor.backends.lab_turn import LabDemand
from tcptutor.backends.session import Home, Session
from tcptutor.base import places
from tcptutor.base.errors import LabError, LabUnavailable, TutorError
from tcptutor.run import Environment, Fidelity, Finished, Run, Sample, load
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import (
    VERSION,
    CloseTerminal,
    Event,
    OpenTerminal,
    Phase,
    Ready,
    Request,
    ResizeTerminal,
    RunDetected,
    Samples,
    SessionEnded,
    Stop,
    TerminalInput,
    TerminalOutput,
)

from .record import RUNS, SWEPT

GUEST = Environment(
    backend="guest",
    clock="virtual",
    kernel="6.12.41",
    reason="this machine's kernel has no netem, so a guest runs it",
)


BY_HAND = Environment(backend="guest", clock="real", kernel="6.12.41")


def recorded(experiment: Experiment) -> Run:
    """What the real lab gave for `experiment` when it was recorded."""
    return load(RUNS / f"{experiment.name.partition('/')[2]}.tcprun")


class FakeLab:
    """Plays samples as fast as it is read, or `speed` times the lab's clock; `hold` stops it where it is."""

    def __init__(
        self,
        speed: float = 0.0,
        *,
        dies_at: float | None = None,
        unavailable: str = "",
        plays: Run | None = None,
    ) -> None:
        self.plays = plays
        """What it plays whatever it is asked for; else what was recorded of the experiment."""
        self.speed, self.dies_at, self.unavailable = speed, dies_at, unavailable
        self.hold_at: float | None = None
        """Lab seconds at which to wait until `go_on` is set."""
        self.go_on = asyncio.Event()
        self.environment: Environment | None = None
        self.fidelity = Fidelity(status="valid")
        self.runs = self.stopped = 0
        self.closed = False
        self.no_session = ""
        """Why no session can be opened; empty when one can."""
        self.session_waits: asyncio.Event | None = None
        """Until it is set, a session is not there."""
        self.hands: FakeSession | None = None
        """The session that is open, or was last."""
        self.sessions_left = 0
        self.demand = LabDemand(0, 0)
        """Demand of other students for it."""
        self.expected: list[Experiment | None] = []
        """What it was told would be asked for, each time."""

    async def warm(self) -> Environment:
        if self.unavailable:
            from tcptutor.base.errors import LabUnavailable

            raise LabUnavailable(self.unavailable)
        self.environment = GUEST
        return GUEST

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        self.runs += 1
        ended = False
        try:
            run = self.plays or recorded(experiment)
            queue = list(run.queue)
            times = [row.t for row in queue]
            yield Ready(VERSION, GUEST)
            yield Phase("network", "building the network")
            for batch in _batches(list(run.samples), experiment.total_streams * 4):
                if self.hold_at is not None and batch[-1].t > self.hold_at:
                    await self.go_on.wait()
                if self.dies_at is not None and batch[-1].t > self.dies_at:
                    ended = True
                    raise TutorError("the lab's agent ended during the run: press r to run it again")
                if self.speed:
                    await asyncio.sleep(0.2 / self.speed)
                arrived = slice(bisect_left(times, batch[0].t), bisect_right(times, batch[-1].t))
                yield Samples(batch[-1].t, tuple(batch), tuple(queue[arrived]))
            yield Finished(tuple(run.flows), self.fidelity, run.experiment_s)
            ended = True
        finally:
            self.stopped += not ended

    @asynccontextmanager
    async def session(
        self, experiment: Experiment, needs: Experiment | None = None, trap: str = ""
    ) -> AsyncIterator[tuple[Session, Environment]]:
        if self.no_session:
            raise LabUnavailable(self.no_session)
        if self.session_waits is not None:
            await self.session_waits.wait()
        self.trap = trap
        hands = self.hands = FakeSession(experiment, places.home())
        await hands.session.begin(carry=True)
        try:
            yield hands.session, BY_HAND
        finally:
            await hands.session.abandon()
            self.sessions_left += 1

    def prefetch(self, experiment: Experiment | None) -> None:
        self.expected.append(experiment)

    def second_lab(self) -> None:
        """It works alone."""
        return

    async def close(self) -> None:
        self.closed = True


class FakeShell:
    """A terminal whose program the test is: `typed` has what it was given, `says` writes."""

    def __init__(self, fake: FakeSession, number: int) -> None:
        self._fake, self._number = fake, number
        self.typed = b""
        self.size = (0, 0)

    def says(self, text: str | bytes) -> None:
        """The program has written this."""
        self._fake.tell(TerminalOutput(self._number, text.encode() if isinstance(text, str) else text))

    def ends(self) -> None:
        """Its shell has ended."""
        self._fake.tell(TerminalOutput(self._number, b""))


class FakeSession:
    """The agent's side of a session: the app's own `Session` speaks with it."""

    def __init__(self, experiment: Experiment, home: Path) -> None:
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self.session = Session(experiment, self._take, self._events.get, Home(home))
        self.shells: dict[str, FakeShell] = {}
        """Those that were opened, by host."""
        self._by_number: dict[int, FakeShell] = {}
        self.tell(SessionState(experiment))

    @property
    def waiting(self) -> int:
        """What the app has not taken yet."""
        return self._events.qsize()

    def tell(self, event: Event) -> None:
        """The lab says so."""
        self._events.put_nowait(event)

    async def plays(self, run: Run, seconds: float) -> None:
        """A run is found, and goes on for so long."""
        self.tell(RunDetected(run.experiment))
        for batch in _batches(list(run.samples), run.experiment.total_streams * 4):
            if batch[-1].t > seconds:
                break
            self.tell(Samples(batch[-1].t, tuple(batch)))

    def _take(self, request: Request) -> None:
        match request:
            case OpenTerminal(terminal=number, host=host, rows=rows, columns=columns):
                shell = self.shells[host] = self._by_number[number] = FakeShell(self, number)
                shell.size = (rows, columns)
                shell.says(f"{host}:~# ")
            case TerminalInput(terminal=number, data=data):
                self._by_number[number].typed += data
            case ResizeTerminal(terminal=number, rows=rows, columns=columns):
                self._by_number[number].size = (rows, columns)
            case CloseTerminal(terminal=number):
                self._by_number[number].ends()
            case Stop():
                self.tell(SessionEnded())
            case _:
                pass


class SweptLab(FakeLab):
    """Plays the recorded runs of the example's sweep, and may have another one beside it."""

    def __init__(self, other: SweptLab | None = None, fails_at: int = 0) -> None:
        super().__init__()
        self.other, self.fails_at = other, fails_at
        self.asked: list[Experiment] = []
        self.holds = 0
        """Which of its runs waits in the middle until `go_on` is set, from 1; 0 for none."""
        self.doubts: set[int] = set()
        """Windows whose runs it calls suspect, bytes."""

    def second_lab(self) -> SweptLab | None:
        return self.other

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        self.asked.append(experiment)
        if self.fails_at and experiment.hosts.window == self.fails_at:
            raise LabError("the guest ended: run it again")
        if len(self.asked) == self.holds:
            self.hold_at = 2.0
        reasons = ("37 % of the samples are missing",)
        doubted = experiment.hosts.window in self.doubts
        self.fidelity = Fidelity(status="suspect", reasons=reasons) if doubted else Fidelity(status="valid")
        self.plays = next(run for run in swept() if _at_one_value(run.experiment, experiment))
        async for event in super().run(experiment):
            yield event


@cache
def swept() -> tuple[Run, ...]:
    """The recorded runs of the example's sweep, in the order of its axis."""
    return tuple(load(path) for path in sorted(SWEPT.glob("*.tcprun")))


def _at_one_value(one: Experiment, other: Experiment) -> bool:
    return one.hosts == other.hosts


def _batches(rows: Sequence[Sample], size: int) -> Iterable[Sequence[Sample]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
