"""`tcptutor shell`: a shell on a lab host in this terminal; its traffic is saved as runs."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tcptutor.analysis import report
from tcptutor.backends import own_terminal
from tcptutor.backends.lab import Lab
from tcptutor.backends.programs import run_until_signal
from tcptutor.backends.session import MAX_BYTES, LabTerminal
from tcptutor.base import sizes
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.goals import PageRecorder, ShellPage, board_lines, shell_page
from tcptutor.commands.names import find_experiment, find_page, what_runs
from tcptutor.commands.output import print_lines, remark, warn
from tcptutor.commands.run import open_store, print_report, warn_if_unsaved
from tcptutor.course import experiments
from tcptutor.journal.goals import WatchedGoals
from tcptutor.run import Environment
from tcptutor.runs.conduct import ConductedSession, GrowingRun
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment, build, host_names
from tcptutor.spec.check_links import check_for_shell

_HOST = re.compile(r"[a-zA-Z]\d+")
_LAST_EVENTS = 1.0
"""Seconds to wait for the last events of a session after leaving it; a hung agent sends none."""


def open_shell(
    words: Sequence[str],
    experiment: str | None,
    settings: Mapping[str, str],
    scale: str,
    backend: str,
    clock: str,
) -> int:
    """Open a shell and return the exit code.

    Args:
        words: A host, a page MODULE/PAGE, or both.
        experiment: Experiment of the network.
        settings: Parameters of the network.
        scale: Scale of the experiment.
        backend: Backend of the lab.
        clock: Clock of the lab.

    Raises:
        TutorError: The shell could not start, or the lab ended under it.
    """
    page, host = _page_and_host(words)
    if page is not None:
        if experiment is not None or settings or scale != "bench":
            raise UsageError(f"{page.name} defines its own network: omit --experiment, --set and --scale")
        network = page.shell.experiment
    elif experiment is not None:
        name = find_experiment(experiment, "tcptutor shell --experiment")
        network = experiments.build(name, settings, None, scale=scale)
    else:
        network = build("by-hand", {"title": "by hand", "parameters": dict(settings)})
    check_for_shell(network)
    known = page.shell.hosts if page is not None else host_names(network.pairs)
    host = host or (known[0] if page is not None else "h1")
    if host not in known:
        raise UsageError(f"there is no host {host!r}: use one of {', '.join(known)}")
    store, runs, began = open_store(), list[GrowingRun](), asyncio.Event()
    opened = _OpenedPage(page) if page is not None else None
    try:
        run_until_signal(_session(network, host, Lab(backend, clock), store, runs, began, opened))
    except asyncio.CancelledError:
        if not began.is_set():
            raise KeyboardInterrupt from None
        # A signal during the session: report the runs so far.
    finally:
        _print_reports(runs, of_path=opened is None or not opened.hides_fault)
        if opened is not None:
            opened.goals.close()
            if began.is_set():
                print_lines(opened.lines)
            if opened.record.trouble:
                warn(opened.record.trouble)
    is_unsaved = any(run.unsaved or run.packets_unsaved for run in runs) or (
        opened is not None and opened.record.trouble
    )
    return 1 if is_unsaved else 0


class _OpenedPage:
    """A page with its network open here."""

    def __init__(self, page: ShellPage) -> None:
        self.page, self.record = page, PageRecorder(page)
        self.goals = WatchedGoals(page.module.id, page.step.id, page.shell, self.record)

    @property
    def hides_fault(self) -> bool:
        """Return True if the network has a fault that the student still has to find."""
        return bool(self.page.shell.fault) and not self.goals.board.done

    @property
    def lines(self) -> list[str]:
        """Return the lines of its goals."""
        return board_lines(self.page.step.title, self.goals.board)

    @property
    def welcome(self) -> list[str]:
        """Return the lines shown before the first prompt."""
        commands = [f"  on {command.host}: {command.run}" for command in self.page.shell.commands]
        asks = f"  `tcptutor check {self.page.name}` in another terminal shows your progress"
        return [*self.lines, asks, *commands]


def _page_and_host(words: Sequence[str]) -> tuple[ShellPage | None, str]:
    hosts = [word for word in words if _HOST.fullmatch(word)]
    named = [word for word in words if word not in hosts]
    if len(named) > 1 or len(hosts) > 1:
        raise UsageError(
            f"{' '.join(words)!r} has too many words: write a page MODULE/PAGE, a host, or one of each"
        )
    return _page(named[0]) if named else None, "".join(hosts)


def _page(name: str) -> ShellPage:
    module, step = find_page(name)
    if step.shell is None and (step.experiment or step.challenge):
        _, command = what_runs(module, step, "tcptutor shell --experiment")
        raise UsageError(f"{module.id}/{step.id} has no shell of its own: `{command}` opens its network")
    return shell_page(name)


def _print_reports(runs: Sequence[GrowingRun], of_path: bool) -> None:
    """Print the reports of a session's runs; `of_path` includes the path's settings."""
    for ended in runs:
        warn_if_unsaved(ended.unsaved)
        if ended.packets_unsaved:
            warn(ended.packets_unsaved)
        if ended.file is not None:
            print_report(ended.run, report(ended.run), ended.file, of_path=of_path)


async def _session(
    experiment: Experiment,
    host: str,
    lab: Lab,
    store: RunStore,
    runs: list[GrowingRun],
    began: asyncio.Event,
    opened: _OpenedPage | None,
) -> None:
    """Run a shell on `host` until it ends, and feed the session's events to the goals of its page.

    Args:
        experiment: The network.
        host: Host of the shell.
        lab: The lab.
        store: Store of the runs.
        runs: Receives the session's runs.
        began: Set when the lab is up.
        opened: The page, if any.

    Raises:
        TutorError: The lab has ended.
    """
    size = shutil.get_terminal_size()
    warn(f"starting the lab for a shell on {host} ...")
    needs = opened.page.shell.kernel_requirements if opened is not None else None
    trap = opened.page.shell.fault if opened is not None else ""
    async with lab.session(experiment, needs, trap) as (session, environment):
        began.set()
        terminal = session.shell(host, size.lines, size.columns)
        conducted = ConductedSession(session, environment, store)
        following = asyncio.create_task(_follow(conducted, opened))
        try:
            remark(_greeting(host, experiment, environment, session.home.folder))
            if opened is not None:
                remark("\n".join(opened.welcome))
            try:
                await _connect(terminal, opened)
            finally:
                # Also when the terminal is closed: the files in ~ are copied out at the end.
                await asyncio.shield(session.leave())
            done, _ = await asyncio.wait([following], timeout=_LAST_EVENTS)
            if done:
                await following
            if left := session.home.omitted:
                warn(f"files in ~ beyond {sizes.decimal(MAX_BYTES)} were not saved: {', '.join(left)}")
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
    clock = "; its clock waits for this machine" if environment.clock == "virtual" else ""
    return f"""\
tcptutor: a shell on {host} ({environment.backend}, Linux {environment.kernel}{clock}); `exit` ends it
  h2 iperf3 -s -D   starts a server on h2; `h2 COMMAND` runs any command there, h2 alone opens a shell
  iperf3 -c h2      sends to it; the hosts are {", ".join(host_names(experiment.pairs))}
  help              lists the programs and what is saved; ~ is {home}
  your traffic is saved as runs, and explained when you leave"""


async def _connect(terminal: LabTerminal, opened: _OpenedPage | None) -> None:
    """Connect this terminal to the lab's until the shell ends."""

    def show(data: bytes) -> None:
        if opened is not None:
            opened.goals.printed(opened.page.name, data)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    await own_terminal.connect(terminal, show)
