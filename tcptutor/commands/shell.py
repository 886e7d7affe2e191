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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tcptutor import course
from tcptutor.analysis import report
from tcptutor.backends.ending import run_until_signal
from tcptutor.backends.home import MAX_BYTES
from tcptutor.backends.lab import Lab
from tcptutor.backends.session import Terminal
from tcptutor.base import units
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.goals import PageRecorder, ShellPage, board_lines, shell_page
from tcptutor.commands.output import print_lines, remark, warn
from tcptutor.commands.run import open_store, print_report, warn_if_unsaved
from tcptutor.journal.watched import WatchedGoals
from tcptutor.run import Environment
from tcptutor.runs.conduct import ConductedSession, GrowingRun
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment, build, host_names

_LAST_WORD = 1.0
"""Seconds for what a session tells after it was left: an agent that is silent tells nothing any more."""
_END_OF_INPUT = b"exit\n"
"""Not Ctrl-D: a shell that is not yet reading would never see it."""


def open_shell(
    words: Sequence[str],
    experiment: str | None,
    settings: Mapping[str, str],
    scale: str,
    backend: str,
) -> int:
    """The exit code. `words`: a host, a page MODULE/PAGE, or both.

    Raises TutorError before the shell is there, and when the lab has ended under it.
    """
    page, host = _page_and_host(words)
    if page is not None:
        if experiment is not None or settings or scale != "bench":
            raise UsageError(
                f"{page.name} says how the lab is set up: leave out --experiment, --set and --scale"
            )
        wanted = page.shell.experiment
    elif experiment is not None:
        wanted = course.experiment(experiment, settings, None, scale=scale)
    else:
        wanted = build("by-hand", {"title": "by hand", "parameters": dict(settings)})
    known = page.shell.hosts if page is not None else host_names(wanted.pairs)
    host = host or (known[0] if page is not None else "h1")
    if host not in known:
        raise UsageError(f"there is no host {host!r}: take one of {', '.join(known)}")
    store, runs, began = open_store(), list[GrowingRun](), asyncio.Event()
    opened = _OpenedPage(page) if page is not None else None
    try:
        run_until_signal(_session(wanted, host, backend, store, runs, began, opened))
    except asyncio.CancelledError:
        if not began.is_set():
            raise KeyboardInterrupt from None
        # A signal in the session: what was measured is kept.
    finally:
        _tell(runs, of_path=opened is None or not opened.keeps_fault)
        if opened is not None:
            opened.goals.close()
            if began.is_set():
                print_lines(opened.lines)
            if opened.record.trouble:
                warn(opened.record.trouble)
    unkept = any(run.unsaved or run.packets_unsaved for run in runs) or (
        opened is not None and opened.record.trouble
    )
    return 1 if unkept else 0


class _OpenedPage:
    """A page whose network is open here."""

    def __init__(self, page: ShellPage) -> None:
        self.page, self.record = page, PageRecorder(page)
        self.goals = WatchedGoals(page.module.id, page.step.id, page.shell, self.record)

    @property
    def keeps_fault(self) -> bool:
        """Whether something is wrong with the network that the student still has to find."""
        return bool(self.page.shell.broken) and not self.goals.board.done

    @property
    def lines(self) -> list[str]:
        """How its goals stand."""
        return board_lines(self.page.step.title, self.goals.board)

    @property
    def welcome(self) -> list[str]:
        """What stands there before anything is typed."""
        commands = [f"  on {command.host}: {command.run}" for command in self.page.shell.commands]
        asks = f"  `tcptutor check {self.page.name}` in another terminal tells how they stand"
        return [*self.lines, asks, *commands]


def _page_and_host(words: Sequence[str]) -> tuple[ShellPage | None, str]:
    """The page, and the host where one is named."""
    named = [word for word in words if "/" in word]
    hosts = [word for word in words if "/" not in word]
    if len(named) > 1 or len(hosts) > 1:
        raise UsageError(f"{' '.join(words)!r} is too much: give a page MODULE/PAGE, a host, or one of each")
    return shell_page(named[0]) if named else None, "".join(hosts)


def _tell(runs: Sequence[GrowingRun], of_path: bool) -> None:
    """What came of a session's runs, on standard output; `of_path`: with what the path was."""
    for ended in runs:
        warn_if_unsaved(ended.unsaved)
        if ended.packets_unsaved:
            warn(ended.packets_unsaved)
        if ended.file is not None:
            print_report(ended.run, report(ended.run), ended.file, of_path=of_path)


async def _session(
    experiment: Experiment,
    host: str,
    backend: str,
    store: RunStore,
    runs: list[GrowingRun],
    began: asyncio.Event,
    opened: _OpenedPage | None,
) -> None:
    """A shell on `host` until it ends; the session's runs go to `runs`, `began` is set once the lab is there.

    What it tells goes to the goals of the page that it is of, if any.

    Raises TutorError when the lab has ended.
    """
    size = shutil.get_terminal_size()
    warn(f"starting the lab for a shell on {host} ...")
    needs = opened.page.shell.kernel_requirements if opened is not None else None
    trap = opened.page.shell.broken if opened is not None else ""
    async with Lab(backend).session(experiment, needs, trap) as (session, environment):
        began.set()
        terminal = session.shell(host, size.lines, size.columns)
        conducted = ConductedSession(session, environment, store)
        following = asyncio.create_task(_follow(conducted, opened))
        try:
            remark(_greeting(host, experiment, environment, session.home.folder))
            if opened is not None:
                remark("\n".join(opened.welcome))
            try:
                await _attached(terminal, opened)
            finally:
                # Also when the terminal is closed: what is in ~ comes out at the end.
                await asyncio.shield(session.leave())
            done, _ = await asyncio.wait([following], timeout=_LAST_WORD)
            if done:
                await following
            if left := session.home.left_out:
                warn(f"not kept of ~, {units.size(MAX_BYTES)} in all: {', '.join(left)}")
        finally:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError, TutorError):
                await following
            runs += conducted.ended


async def _follow(conducted: ConductedSession, opened: _OpenedPage | None) -> None:
    async with conducted:
        async for event in conducted:
            if opened is not None:
                await opened.goals.take(event, conducted)


def _greeting(host: str, experiment: Experiment, environment: Environment, home: Path) -> str:
    return f"""\
tcptutor: a shell on {host} ({environment.backend}, Linux {environment.kernel}); `exit` ends it
  h2 iperf3 -s -D   starts a server on h2; `h2 COMMAND` runs any command there, h2 alone opens a shell
  iperf3 -c h2      sends to it; there are {", ".join(host_names(experiment.pairs))}
  tc                takes mbit for bits, and mbps for bytes a second
  ~                 is kept in {home}
  what you send is kept as runs, and explained when you leave"""


async def _attached(terminal: Terminal, opened: _OpenedPage | None) -> None:
    """This terminal and that one are the same until the shell ends."""
    loop = asyncio.get_running_loop()
    source = sys.stdin.fileno()
    # Keys typed before the first prompt; None once it is there. Given to the shell earlier they would show up twice.
    ahead: bytearray | None = bytearray()

    def write(data: bytes) -> None:
        if ahead is None:
            terminal.write(data)
        else:
            ahead.extend(data)

    def typed() -> None:
        data = os.read(source, 65536)
        write(data or _END_OF_INPUT)
        if not data:
            loop.remove_reader(source)

    def resized() -> None:
        size = os.get_terminal_size(source)
        terminal.resize(size.lines, size.columns)

    with _raw(source):
        try:
            loop.add_reader(source, typed)
        except PermissionError:  # a file: all of it is there
            write(sys.stdin.buffer.read() + _END_OF_INPUT)
        loop.add_signal_handler(signal.SIGWINCH, resized)
        try:
            while data := await terminal.read():
                if ahead is not None:
                    terminal.write(bytes(ahead))
                    ahead = None
                if opened is not None:
                    opened.goals.printed(opened.page.name, data)
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
    # Not TCSAFLUSH, the default: it throws away what was typed while the lab was starting.
    tty.setraw(source, termios.TCSADRAIN)
    try:
        yield
    finally:
        termios.tcsetattr(source, termios.TCSADRAIN, before)
