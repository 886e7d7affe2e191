"""`tcptutor shell`: this terminal becomes one of a lab host, and what is sent there becomes runs like any other."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Mapping
from pathlib import Path

from tcptutor import course, headless, places
from tcptutor.analysis import report
from tcptutor.backends.ending import run_until_signal
from tcptutor.backends.lab import Lab
from tcptutor.backends.session import Session, Terminal
from tcptutor.errors import TutorError, UsageError
from tcptutor.lab.protocol import Finished, RunFound
from tcptutor.run import Environment, Run
from tcptutor.runs.recording import Recording
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment, build, host_names
from tcptutor.spec import settings as described

_END_OF_INPUT = b"exit\n"
"""Not Ctrl-D: a shell that is not yet reading would never see it."""


def open_shell(
    host: str,
    name: str | None,
    settings: Mapping[str, str],
    scale: str,
    backend: str,
) -> int:
    """`tcptutor shell`: the exit code. Raises TutorError before the shell is there."""
    if name is not None:
        experiment = course.experiment(name, settings, None, scale=scale)
    else:
        experiment = build("by-hand", {"title": "by hand", "parameters": dict(settings)})
    known = host_names(experiment.pairs)
    if host not in known:
        raise UsageError(f"there is no host {host!r}: take one of {', '.join(known)}")
    files = RunStore(places.runs())
    files.recover()
    kept = _Kept(files)
    try:
        run_until_signal(_session(experiment, host, backend, kept))
    except asyncio.CancelledError:
        pass  # a signal: what was measured is kept
    finally:
        kept.tell()
    return 0


class _Kept:
    """The runs of a session, each in a file of its own from its first sample on."""

    def __init__(self, files: RunStore) -> None:
        self._files = files
        self._recording: Recording | None = None
        self._kept: list[tuple[Run, Path]] = []

    async def follow(self, session: Session, environment: Environment) -> None:
        async for event in session:
            if isinstance(event, RunFound):
                self._recording = Recording(event.experiment, environment)
                self._files.begin(self._recording.run)
            if self._recording is None:
                continue
            self._recording.take(event)
            self._files.take(self._recording.run, event)
            if isinstance(event, Finished):
                self.finish("the session ended during it")

    def finish(self, why: str) -> None:
        """Keep the run that is there; `why` it was cut short, if it was."""
        if self._recording is None:
            return
        recording, self._recording = self._recording, None
        recording.cut(why)
        if path := headless.store(recording.run, self._files):
            self._kept.append((recording.run, path))

    def tell(self) -> None:
        """What came of it, on standard output."""
        self.finish("the lab ended during it")
        for run, path in self._kept:
            # What it turned out to be an experiment of.
            print(", ".join(f"{name} {value}" for name, value in described(run.experiment).items()))
            headless.print_report(run, report(run), path)


async def _session(experiment: Experiment, host: str, backend: str, kept: _Kept) -> None:
    size = shutil.get_terminal_size()
    print(f"tcptutor: starting the lab for a shell on {host} ...", file=sys.stderr)
    async with Lab(backend).session(experiment) as (session, environment):
        terminal = session.shell(host, size.lines, size.columns)
        following = asyncio.create_task(kept.follow(session, environment))
        try:
            print(_greeting(host, experiment, environment), file=sys.stderr)
            await _attached(terminal)
            await session.leave()
            await following
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError, TutorError):
                await following


def _greeting(host: str, experiment: Experiment, environment: Environment) -> str:
    return f"""\
tcptutor: a shell on {host} ({environment.backend}, Linux {environment.kernel}); `exit` ends it
  iperf3 -c $h2     $h2 is the address of h2; there are {", ".join(host_names(experiment.pairs))}
  h2 iperf3 -s &    runs a command on h2; h2 alone opens a shell there
  what you send is kept as runs, and explained when you leave"""


async def _attached(terminal: Terminal) -> None:
    """This terminal and that one are the same until the shell ends."""
    loop = asyncio.get_running_loop()
    source = sys.stdin.fileno()

    def typed() -> None:
        data = os.read(source, 65536)
        terminal.write(data or _END_OF_INPUT)
        if not data:
            loop.remove_reader(source)

    def resized() -> None:
        size = os.get_terminal_size(source)
        terminal.resize(size.lines, size.columns)

    with _raw(source):
        try:
            loop.add_reader(source, typed)
        except PermissionError:  # a file: all of it is there
            terminal.write(sys.stdin.buffer.read() + _END_OF_INPUT)
        loop.add_signal_handler(signal.SIGWINCH, resized)
        try:
            while data := await terminal.read():
                sys.stdout.buffer.write(data)
                sys.stdout.buffer.flush()
        finally:
            loop.remove_reader(source)
            loop.remove_signal_handler(signal.SIGWINCH)


@contextlib.contextmanager
def _raw(source: int) -> Iterator[None]:
    """Every key goes to the lab's terminal, Ctrl-C as well."""
    if not os.isatty(source):
        yield
        return
    before = termios.tcgetattr(source)
    tty.setraw(source)
    try:
        yield
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
