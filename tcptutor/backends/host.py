"""The host backend: the agent as a child process in its own namespaces on this machine's kernel.

Everything the agent creates lives in its namespaces and disappears with its last process; the machine's own
interfaces, routes and sysctls are never touched.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from tcptutor.backends import programs
from tcptutor.backends.events import EventReader, failure, next_event
from tcptutor.backends.session import Home, Session
from tcptutor.base.errors import LabUnavailable, MissingTool
from tcptutor.run import Environment, Finished
from tcptutor.spec import Experiment
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Failed, Hello, OpenSession, Quit, Ready, RunExperiment

_NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_OPEN_TIMEOUT = 90.0
_SILENCE = 60.0


def privilege() -> list[str]:
    """Return the command that gives the agent its own namespaces, as root or inside a user namespace.

    It never raises privileges: a user who wants root's lab starts tcptutor as root.

    Raises:
        LabUnavailable: Ordinary users cannot create such namespaces here.
    """
    if os.geteuid() == 0:
        return ["unshare", *_NAMESPACES]
    # With more users than root, tcpdump can change to one: that takes newuidmap and a line in /etc/subuid.
    for users in (["--map-root-user", "--map-auto"], ["--map-root-user"]):
        rootless = ["unshare", "--user", *users, *_NAMESPACES]
        if not refusal([*rootless, "true"]):
            return rootless
    raise LabUnavailable(
        "this machine gives ordinary users no network namespaces: use the guest (see `tcptutor doctor`)"
    )


def refusal(command: list[str]) -> str:
    """Return the last line that `command` prints when it fails; empty when it succeeds."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return (done.stderr.strip().splitlines() or ["no reason given"])[-1] if done.returncode else ""


class HostBackend:
    """Backend on this machine's kernel. Owns the agent's process."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._environment: Environment | None = None

    async def open(self, on_build: Callable[[], object] = lambda: None) -> Environment:  # noqa: ARG002
        if self._environment is not None:
            return self._environment
        self._environment = await self._start(*await asyncio.to_thread(privilege))
        return self._environment

    async def describe(self, on_build: Callable[[], object] = lambda: None) -> Environment:
        return await self.open(on_build)

    async def _start(self, *prefix: str) -> Environment:
        for tool, package in programs.missing(programs.HOST).items():
            raise MissingTool(f"{tool} is missing (Debian package {package}): run `tcptutor setup`")
        self._process = await asyncio.create_subprocess_exec(
            "setpriv", "--pdeathsig", "KILL", "--", *prefix,
            sys.executable, "-m", "tcptutor.agent.agent", "host", "real",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**os.environ, "PATH": programs.PATH},
            limit=1 << 22,
            start_new_session=True,
        )  # fmt: skip
        self._send(Hello())
        try:
            event = await self._event(_OPEN_TIMEOUT)
        except BaseException:
            await self._kill()
            raise
        if not isinstance(event, Ready):
            await self._kill()
            raise LabUnavailable(
                event.reason if isinstance(event, Failed) else "the lab's agent does not start"
            )
        return event.environment

    def _send(self, request: protocol.Request) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(protocol.line(request))

    async def _event(self, timeout: float | None) -> Event:
        assert self._process is not None
        assert self._process.stdout is not None
        return await next_event(self._process.stdout.readline, timeout, "the lab's agent", self._last_words)

    async def _last_words(self) -> str:
        assert self._process is not None
        assert self._process.stderr is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(1):
                output = await self._process.stderr.read(65536)
            lines = output.decode(errors="replace").strip().splitlines()
            return lines[-1] if lines else ""
        return ""

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        await self.open()
        done = False
        reading = EventReader()
        try:
            self._send(RunExperiment(experiment))
            while not done:
                event = await reading.read(await self._event(_SILENCE))
                done = isinstance(event, (Finished, Failed))
                if isinstance(event, Failed):
                    raise failure(event)
                yield event
        finally:
            if not done:
                # After a stop or a crash the next run gets a new agent, and with it a clean network.
                await self._kill()

    @asynccontextmanager
    async def session(self, experiment: Experiment, trap: str = "") -> AsyncIterator[Session]:
        if os.geteuid() == 0:
            raise LabUnavailable(
                "a shell on this kernel would be root's: use --backend guest, or an ordinary user"
            )
        await self.open()
        home = Home()
        session = Session(experiment, self._send, lambda: self._event(None), home)
        try:
            home.make()
            self._send(OpenSession(experiment, home=str(home.folder), trap=trap))
            await session.begin()
            yield session
        finally:
            # Programs started by hand, and changed settings, go away with the agent's namespaces.
            await session.abandon()
            await self._kill()

    async def _kill(self) -> None:
        process, self._process, self._environment = self._process, None, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        programs.kill(process)
        await process.wait()

    async def close(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ConnectionError, TimeoutError, AssertionError):
                self._send(Quit())
                async with asyncio.timeout(3):
                    await self._process.wait()
        await self._kill()
