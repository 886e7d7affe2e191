"""The labs of a server are shared fairly, whatever becomes of the apps that hold or want them."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tcptutor.backends import selection
from tcptutor.backends.lab import Lab
from tcptutor.backends.lab_turn import QUEUE, STUDENT, LabTurns, short_name, turns_here
from tcptutor.backends.selection import ChosenBackend
from tcptutor.base.errors import LabError, LabUnavailable
from tcptutor.run import Environment
from tcptutor.serve.lab_queue import LabQueue
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import VERSION, Event, Phase, Ready
from tests.patience import Deadline

HOLDER = """
import asyncio, os
from tcptutor.backends.lab_turn import turns_here
async def main():
    print(await turns_here(os.environ).take(waits=True), flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ("with a name that is longer than that of any socket can be " * 3)


class App:
    """A student's app that asks for labs."""

    def __init__(self, queue: LabQueue, student: str) -> None:
        turns = turns_here({**queue.environment, STUDENT: student})
        assert turns is not None
        self.turns: LabTurns = turns
        self.place = ""
        turns.on_place = lambda place: setattr(self, "place", str(place or ""))
        self.taking: asyncio.Task[bool] | None = None

    def ask(self) -> None:
        self.taking = asyncio.create_task(self.turns.take(waits=True))

    async def take(self) -> None:
        async with asyncio.timeout(10):
            assert await self.turns.take(waits=True)


async def until(condition: object, seconds: float = 10) -> None:
    deadline = Deadline(seconds)
    while not condition():  # type: ignore[operator]
        assert deadline.left
        await asyncio.sleep(0.01)


def apps(queue: LabQueue, *students: str) -> list[App]:
    return [App(queue, student) for student in students]


async def test_labs_go_to_who_had_none_then_to_who_gave_theirs_back_first(folder: Path) -> None:
    async with LabQueue(folder, labs=1) as queue:
        ada, bob, cy = apps(queue, "ada", "bob", "cy")
        await ada.take()
        bob.ask()
        await until(lambda: queue.waiting == ("bob",))
        await until(lambda: (bob.place, ada.turns.waiting) == ("place 1 of 1", 1))
        ada.turns.release()
        await until(lambda: queue.holding == ("bob",))
        ada.ask()
        await until(lambda: ada.place == "place 1 of 1")
        cy.ask()  # later, but without a lab so far
        await until(lambda: (cy.place, ada.place) == ("place 1 of 2", "place 2 of 2"))
        bob.turns.release()
        await until(lambda: queue.holding == ("cy",))
        bob.ask()
        await until(lambda: (ada.place, bob.place) == ("place 1 of 2", "place 2 of 2"))
        cy.turns.release()
        await until(lambda: queue.holding == ("ada",) and ada.place == "")
        bob.taking.cancel()
        await until(lambda: queue.waiting == () and ada.turns.waiting == 0)
        ada.turns.release()


async def test_a_second_lab_of_a_student_comes_after_everybody_s_first(folder: Path) -> None:
    async with LabQueue(folder, labs=2) as queue:
        ada, again, bob, cy = apps(queue, "ada", "ada", "bob", "cy")
        await ada.take()
        await bob.take()
        again.ask()
        await until(lambda: queue.waiting == ("ada",))
        cy.ask()
        await until(lambda: queue.waiting == ("cy", "ada"))
        bob.turns.release()
        await until(lambda: sorted(queue.holding) == ["ada", "cy"])
        ada.turns.release()
        await until(lambda: sorted(queue.holding) == ["ada", "cy"])
        for app in (cy, again):
            assert await app.taking
            app.turns.release()


async def test_who_does_not_wait_gets_a_lab_only_if_one_is_free(folder: Path) -> None:
    async with LabQueue(folder, labs=2) as queue:
        ada, bob, cy = apps(queue, "ada", "bob", "cy")
        assert await ada.turns.take(waits=False)
        assert await ada.turns.take(waits=False), "it has one"
        assert await bob.turns.take(waits=False)
        assert not await cy.turns.take(waits=False)
        assert queue.waiting == ()
        assert (ada.turns.waiting, cy.place) == (0, "")
        for app in (ada, bob):
            app.turns.release()


async def test_thirty_students_with_two_labs_all_get_one_in_order(folder: Path) -> None:
    async with LabQueue(folder, labs=2) as queue:
        served: list[str] = []
        most = 0

        async def work(app: App, student: str) -> None:
            nonlocal most
            for _ in range(3):
                await app.turns.take(waits=True)
                served.append(student)
                most = max(most, len(queue.holding))
                await asyncio.sleep(0.001)
                app.turns.release()

        students = [f"student {number}" for number in range(30)]
        async with asyncio.timeout(60):
            await asyncio.gather(*(work(App(queue, student), student) for student in students))
        assert most == 2
        for turn in range(3):
            assert len(set(served[30 * turn : 30 * turn + 28])) == 28
        await until(lambda: queue.holding == ())


async def test_the_lab_of_a_killed_app_goes_to_the_next(folder: Path, mark: str) -> None:
    async with LabQueue(folder, labs=1) as queue:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", HOLDER, env={**os.environ, **queue.environment, STUDENT: "ada"}, stdout=-1
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"True\n"
        (bob,) = apps(queue, "bob")
        bob.ask()
        await until(lambda: queue.waiting == ("bob",))
        process.send_signal(signal.SIGKILL)
        await until(lambda: queue.holding == ("bob",))
        await process.wait()
        bob.turns.release()


async def test_a_server_that_is_gone_is_an_error_in_a_line(folder: Path) -> None:
    async with LabQueue(folder, labs=1) as queue:
        ada, bob, cy = apps(queue, "ada", "bob", "cy")
        await ada.take()
        bob.ask()
        await until(lambda: queue.waiting == ("bob",))
    with pytest.raises(LabError, match="does not answer"):
        await bob.taking
    with pytest.raises(LabError, match="does not answer"):
        await cy.turns.take(waits=True)
    assert bob.place == ""
    ada.turns.release()


def test_sockets_of_killed_servers_are_removed_and_those_of_other_servers_stay(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    killed, other = folder / "labs-999999999.sock", folder / "labs-1.sock"
    for path in (killed, other):
        path.touch()

    async def look() -> int:
        async with LabQueue(folder, labs=1) as queue:
            return os.stat(queue.environment[QUEUE]).st_mode  # noqa: PTH116  # no I/O to speak of

    assert asyncio.run(look()) & 0o777 == 0o600
    assert (killed.exists(), list(folder.iterdir())) == (False, [other])


@pytest.mark.parametrize("line", [b"\n", b"{}\n", b"x" * 5000 + b"\n", b"\xff\0\n", b""])
async def test_a_malformed_line_closes_its_connection_and_nothing_else(folder: Path, line: bytes) -> None:
    async with LabQueue(folder, labs=1) as queue:
        (ada,) = apps(queue, "ada")
        await ada.take()
        with socket.socket(socket.AF_UNIX) as raw:
            with short_name(Path(queue.environment[QUEUE])) as name:
                raw.connect(name)
            raw.sendall(line)
            raw.shutdown(socket.SHUT_WR)
            raw.settimeout(10)
            with suppress(ConnectionResetError):
                assert await asyncio.to_thread(raw.recv, 100) == b""
        assert (queue.holding, queue.waiting) == (("ada",), ())
        ada.turns.release()


class Guest:
    """A backend that counts how many of it are up, and gives an event each time that it may."""

    up = most = 0

    def __init__(self) -> None:
        self.is_up = False
        self.go_on = asyncio.Event()

    async def describe(self, on_build: object = None) -> Environment:
        return Environment(backend="guest", clock="virtual", kernel="6.12")

    async def open(self, on_build: object = None) -> Environment:
        if not self.is_up:
            self.is_up = True
            Guest.up += 1
            Guest.most = max(Guest.up, Guest.most)
        return await self.describe()

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        assert self.is_up
        yield Ready(VERSION, await self.describe())
        await self.go_on.wait()
        yield Phase("traffic", "")

    @asynccontextmanager
    async def session(self, experiment: Experiment, trap: str = "") -> AsyncIterator[object]:
        assert self.is_up
        yield "session"

    async def close(self) -> None:
        await asyncio.sleep(0.01)
        Guest.up -= self.is_up
        self.is_up = False


EXPERIMENT = Experiment(name="any")


@asynccontextmanager
async def labs(
    folder: Path, count: int, patch: pytest.MonkeyPatch, *students: str, idle_s: float = 0.0
) -> AsyncIterator[list[Lab]]:
    Guest.up = Guest.most = 0

    async def choose(*_: object) -> ChosenBackend:
        return ChosenBackend(Guest(), "guest", "virtual", "")  # type: ignore[arg-type]

    patch.setattr(selection, "choose", choose)
    patch.setattr(selection, "choose_for_session", choose)
    async with LabQueue(folder, labs=count, idle_s=idle_s) as queue:
        made = []
        for student in students:
            for name, value in {**queue.environment, STUDENT: student}.items():
                patch.setenv(name, value)
            made.append(Lab())
        yield made
        for lab in made:
            await lab.close()
        assert Guest.up == 0
        await until(lambda: queue.holding == ())


async def run(lab: Lab) -> list[Event]:
    return [event async for event in lab.run(EXPERIMENT)]


def backend(lab: Lab) -> Guest:
    assert lab._choice is not None
    return lab._choice.backend  # type: ignore[return-value]


async def test_an_idle_lab_gives_way_and_a_lab_in_use_does_so_after_its_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with labs(folder, 1, monkeypatch, "ada", "bob") as (ada, bob):
        await ada.warm()
        assert (await bob.warm()).backend == "guest"
        assert (Guest.up, backend(bob).is_up) == (1, False), "no lab is free for it"
        places: list[str] = []
        bob.on_place = lambda place: places.append(str(place))
        of_bob = asyncio.create_task(run(bob))
        await until(lambda: backend(bob).is_up)
        assert (ada._choice, Guest.up) == (None, 1)
        of_ada = asyncio.create_task(run(ada))
        await asyncio.sleep(0.1)
        assert Guest.up == 1
        backend(bob).go_on.set()
        assert len(await of_bob) == 3
        await until(lambda: ada._choice is not None and backend(ada).is_up)
        backend(ada).go_on.set()
        assert len(await of_ada) == 3
        assert (Guest.most, places[-1]) == (1, "None")


async def test_a_run_that_is_stopped_while_it_waits_leaves_the_queue(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with labs(folder, 1, monkeypatch, "ada", "bob", "cy") as (ada, bob, cy):
        async with ada.session(EXPERIMENT):
            places: dict[Lab, str] = {}
            for lab in (bob, cy):
                lab.on_place = lambda place, lab=lab: places.__setitem__(lab, str(place))  # type: ignore[misc]
            of_bob = asyncio.create_task(run(bob))
            await until(lambda: places.get(bob) == "place 1 of 1")
            of_cy = asyncio.create_task(run(cy))
            await until(lambda: places.get(cy) == "place 2 of 2")
            of_bob.cancel()
            await until(lambda: places == {bob: "None", cy: "place 1 of 1"})
        await until(lambda: cy._choice is not None and backend(cy).is_up)
        backend(cy).go_on.set()
        await of_cy
        assert Guest.most == 1


async def test_there_is_no_run_ahead_and_no_second_lab_while_labs_are_shared(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tcptutor.backends.lab.is_worthwhile", lambda _: True)
    async with labs(folder, 2, monkeypatch, "ada") as (ada,):
        await ada.warm()
        ada.prefetch(EXPERIMENT)
        assert (ada.second_lab(), Guest.up) == (None, 1)


async def test_a_lab_learns_who_waits_for_its_shell_and_how_long_it_may_be_idle(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with labs(folder, 1, monkeypatch, "ada", "bob", idle_s=300.0) as (ada, bob):
        async with ada.session(EXPERIMENT):
            assert ada.demand == (0, 300.0)
            of_bob = asyncio.create_task(run(bob))
            await until(lambda: ada.demand == (1, 300.0))
        await until(lambda: bob._choice is not None and backend(bob).is_up)
        backend(bob).go_on.set()
        assert len(await of_bob) == 3


async def test_a_lab_without_its_server_says_so_and_replays_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(QUEUE, str(tmp_path / "gone" / "labs.sock"))

    async def choose(*_: object) -> ChosenBackend:
        return ChosenBackend(Guest(), "guest", "virtual", "")  # type: ignore[arg-type]

    monkeypatch.setattr(selection, "choose", choose)
    with pytest.raises(LabUnavailable, match="does not answer"):
        await run(Lab())
