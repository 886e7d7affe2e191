"""Goals on a real network: ticked by whatever reaches them, left again, and each near miss made in a real shell.

`python -m tests.backends.test_goals` writes anew what the session reported of each near miss, for
`tests/course/goals/test_near.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tcptutor.backends.events import Recording
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.session import LabTerminal
from tcptutor.course.goals.goal import Goal, GoalBoard, ParsedGoal, read_goal
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.run import Finished, Run
from tcptutor.spec import build as build_experiment
from tcptutor.spec import host_names
from tcptutor.wire import protocol
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Event, Samples, TerminalOutput
from tests import patience
from tests.backends.play import leaving_nothing
from tests.backends.test_session import Hands, hands
from tests.cli.command import SERVER
from tests.conftest import Build
from tests.course.goals.cases import CASES, CLEAN, LINK, NearCase

RECORDED = Path(__file__).parents[1] / "course" / "goals" / "sessions"
_PATIENCE = 20
SHARES = 4
SHAPER, QUEUE = "dev s1-eth2 parent 1: handle 2: tbf", "burst 5000 limit 30000"


def asked(*goals: Goal) -> list[ParsedGoal]:
    read = [read_goal(goal, host_names(1)) for goal in goals]
    assert all(isinstance(goal, ParsedGoal) for goal in read), read
    return [goal for goal in read if isinstance(goal, ParsedGoal)]


def goal(id: str, when: dict[str, object], **more: object) -> Goal:
    return Goal(id=id, text="It is so", when=when, **more)  # type: ignore[arg-type]


class WatchedHands:
    """A shell on s1 with a watch beside it, which sees the session from now on."""

    def __init__(
        self, lab: Hands, shell: LabTerminal, *goals: ParsedGoal, in_order: bool = False, broken: bool = False
    ) -> None:
        self.lab, self.shell = lab, shell
        self.watch = GoalWatch(goals, in_order, broken)
        self._taken = len(lab.events)
        self.seen: list[Event] = [lab.state()]
        """What it was shown."""
        self.watch.take(self.seen[0])
        self._recording: Recording | None = None

    @property
    def board(self) -> GoalBoard:
        """After all that has come."""
        for event in self.lab.events[self._taken :]:
            if isinstance(event, protocol.RunDetected):
                self._recording = Recording(event.experiment, self.lab._environment)
            if self._recording is not None:
                self._recording.take(event)
            self.seen.append(event)
            self.watch.take(event, self._run)
        self._taken = len(self.lab.events)
        return self.watch.board

    @property
    def _run(self) -> Run | None:
        return self._recording.run if self._recording is not None else None

    async def type(self, line: str) -> None:
        """To its end, whatever it says."""
        said = await self.lab.type(self.shell, f"{line}\necho over=$?", r"over=\d+", seconds=40)
        self.seen.append(TerminalOutput(1, said.encode()))
        self.watch.take_output("s1", said.encode())

    async def until(self, holds: Callable[[GoalBoard], bool], seconds: float = _PATIENCE) -> float:
        """Wait for a board of which that holds; how long it took, s."""
        began = time.monotonic()
        while not holds(self.board):
            assert time.monotonic() < began + patience.seconds(seconds), self.board
            await asyncio.sleep(0.01)
        return time.monotonic() - began


async def make(case: NearCase, lab: Hands, shell: LabTerminal) -> list[Event]:
    """Make that slip and see it explained; what the session reported of it."""
    await clean(lab, shell)
    for line in case.given:
        told = lab.count(SessionState)
        await lab.type(shell, f"{line}; echo over=$?", r"over=\d+")
        await lab.until(lambda told=told: lab.count(SessionState) > told)  # type: ignore[misc]
    watched = WatchedHands(lab, shell, *asked(goal("g", case.when, interface=case.interface)))
    assert not watched.board.done
    for line in case.typed:
        told = lab.count(SessionState)
        await watched.type(line)
        await settled(lab, told)
    await watched.until(lambda board: said(board)[0] == case.kind)
    assert not watched.board.done
    assert re.search(case.says, said(watched.board)[1]), said(watched.board)
    events = list(watched.seen)
    if case.then:
        for line in case.then:
            await watched.type(line)
        await watched.until(lambda board: board.done)
    await lab.until(lambda: lab.count(protocol.RunDetected) <= lab.count(Finished))
    return events


def said(board: GoalBoard) -> tuple[str, str]:
    """What is told of the one goal, or else of what was printed."""
    near = board.goals[0].near or board.printed
    return (near.kind, near.text) if near else ("", "")


async def clean(lab: Hands, shell: LabTerminal) -> None:
    """The network as it was at first."""
    await lab.type(shell, f"{CLEAN}; echo over=$?", r"over=\d+")
    await lab.until(lambda: not lab.state().sysctls and not any(one.qdiscs for one in lab.state().interfaces))


async def settled(lab: Hands, told: int) -> None:
    """Until another state was told than the first `told`, or would have been."""
    with contextlib.suppress(TimeoutError):
        await lab.until(lambda: lab.count(SessionState) > told, 0.6)


async def prepare(lab: Hands) -> LabTerminal:
    """A shell on s1 that knows what the buffers were."""
    shell = lab.shell("s1")
    await lab.type(
        shell,
        "RMEM=$(h1 sysctl -n net.ipv4.tcp_rmem) WMEM=$(h1 sysctl -n net.ipv4.tcp_wmem); echo over=$?",
        r"over=\d+",
    )
    return shell


@pytest.fixture
async def backend(mark: str, snapshots: Snapshots, without_state: Path) -> AsyncIterator[GuestBackend]:
    async with leaving_nothing(GuestBackend("virtual", snapshots, paced=True), mark) as one:
        yield one


@pytest.mark.guest
@pytest.mark.parametrize("share", range(SHARES))
async def test_each_near_miss_is_explained_when_it_is_made(
    backend: GuestBackend, build: Build, share: int
) -> None:
    wrong = []
    async with hands(backend, build()) as lab:
        shell = await prepare(lab)
        for case in CASES[share::SHARES]:
            try:
                await make(case, lab, shell)
            except AssertionError as error:
                wrong.append(f"{case.kind} by {case.typed}: {error}")
    assert wrong == []


@pytest.mark.guest
async def test_goals_tick_and_untick_with_the_kernel(backend: GuestBackend, build: Build) -> None:
    goals = asked(
        goal("delay", {"path": {"delay": "20 ms"}}, interface="s1-eth2"),
        goal("once", {"path.delay": "20 ms"}, stays_ticked=True),
        goal("flow", {"path.delay": "20 ms", "flow.bytes": ">= 500 kB"}, stays_ticked=True),
        goal("drops", {"queue.drops": ">= 1"}, stays_ticked=True),
        goal("rate", {"run.throughput": "1 Mbit/s to 2 Mbit/s"}),
        goal("reno", {"hosts.algorithm": "reno"}),
    )
    async with hands(backend, build()) as lab:
        watched = WatchedHands(lab, await prepare(lab), *goals)
        # However it is reached: by tc in a script here, by the lab's own netlink anywhere.
        await watched.type("for i in 1; do sudo " + LINK[0] + "; done")
        took = await watched.until(lambda board: board.reached == (0, 1))
        assert took < patience.seconds(0.5)
        await watched.type("tc qdisc del dev s1-eth2 root")
        await watched.until(lambda board: board.reached == (1,))
        await watched.type(LINK[0])
        # Slow, so that a busy machine can do it.
        await watched.type(f"tc qdisc add {SHAPER} rate 2mbit {QUEUE}")
        await watched.type("h1 sysctl -w net.ipv4.tcp_congestion_control=reno")
        await watched.until(lambda board: board.reached == (0, 1, 5))
        await watched.type(f"{SERVER}; h1 iperf3 -c h2 -t {round(patience.seconds(6))} > /dev/null")
        await watched.until(lambda board: board.done)
        # What is typed, or printed, ticks nothing.
        await watched.type("h1 sysctl -w net.ipv4.tcp_congestion_control=cubic")
        await watched.until(lambda board: board.reached == (0, 1, 2, 3, 4))
        await watched.type("echo net.ipv4.tcp_congestion_control = reno")
        await settled(lab, lab.count(SessionState))
        assert watched.board.reached == (0, 1, 2, 3, 4)
        # The last run counts: one over another path no longer shows the rate.
        await watched.type(f"tc qdisc change {SHAPER} rate 700kbit {QUEUE}")
        await watched.type("h1 iperf3 -c h2 -t 3 > /dev/null")
        await watched.until(lambda board: board.reached == (0, 1, 2, 3))


@asynccontextmanager
async def _recording() -> AsyncIterator[tuple[Hands, LabTerminal]]:
    backend = GuestBackend("virtual", Snapshots(), paced=True)
    try:
        async with hands(backend, build_experiment("test/experiment", {"parameters": {}})) as lab:
            yield lab, await prepare(lab)
    finally:
        await backend.close()


def _thin(event: Event) -> Event:
    """Without what no goal looks at."""
    if isinstance(event, Samples):
        last = {row.flow: row for row in event.rows}
        return Samples(event.t, tuple(last.values()), event.queue[-1:])
    return event


async def _record(kinds: list[str]) -> None:
    RECORDED.mkdir(exist_ok=True)
    async with _recording() as (lab, shell):
        for number, case in enumerate(CASES):
            if not kinds or case.kind in kinds:
                try:
                    events = await make(case, lab, shell)
                except AssertionError as error:
                    print(f"{case.kind} by {case.typed}: {error}", file=sys.stderr)
                    continue
                lines = [protocol.line(_thin(event)) for event in events]
                (RECORDED / f"{number:02}-{case.kind}.jsonl").write_bytes(b"".join(lines))
                print(case.kind, sum(isinstance(event, SessionState) for event in events))


if __name__ == "__main__":
    asyncio.run(_record(sys.argv[1:]))
