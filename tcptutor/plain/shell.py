"""Lab shell in the terminal of the dialogue, with reports on goals and runs."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
from collections.abc import AsyncIterator, Iterator

from tcptutor.backends import own_terminal
from tcptutor.backends.session import LabTerminal
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.goal import GoalBoard
from tcptutor.course.goals.session_record import SessionRecord
from tcptutor.course.page_record import Given, Response
from tcptutor.journal.goals import WatchedGoals
from tcptutor.plain import result
from tcptutor.plain.console import EndOfInput
from tcptutor.plain.letters import readable
from tcptutor.plain.prose import inline_text
from tcptutor.plain.sitting import Sitting
from tcptutor.runs.conduct import ConductedSession, GrowingRun
from tcptutor.study import background
from tcptutor.study.live import Live

_LAST_EVENTS = 1.0
"""Seconds to wait for the last events of a session after leaving it; a hung agent sends none."""
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colors, cursor
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # OSC: titles
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"
)
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*\x1b?)?$")
_READY = "plain-text"
_SETUP = b" export TERM=dumb; bind 'set enable-bracketed-paste off' 2>/dev/null; printf 'plain-%s\\n' text\n"
"""Setup command, typed first: it turns off colors and cursor movements, and prints `_READY`."""


class PlainOutput:
    """Filter for shell output that removes escape sequences, drawings, and all text up to `_READY`."""

    def __init__(self, encoding: str, keeps_returns: bool) -> None:
        """Create the filter; `keeps_returns` for a raw terminal, which needs carriage returns."""
        self._encoding, self._rest = encoding, ""
        self._controls = "\r\n\t" if keeps_returns else "\n\t"
        self._is_ready = False

    def text(self, data: bytes) -> str:
        """Return the next output as readable text, holding back an incomplete escape sequence."""
        text = self._rest + data.decode(errors="replace")
        cut = _UNFINISHED.search(text)
        self._rest = text[cut.start() :] if cut else ""
        text = _ESCAPES.sub("", text[: cut.start()] if cut else text)
        if not self._is_ready:
            before, self._is_ready, text = (
                text.partition(_READY)[0],
                _READY in text,
                text.partition(_READY)[2],
            )
            if not self._is_ready:
                self._rest = before + self._rest
                return ""
            text = text.lstrip("\r\n")
        # Line ends and tabs pass unchanged if the terminal needs them; the rest becomes readable text.
        return "".join(
            piece * (piece in self._controls) if piece in "\r\n\t" else readable(piece, self._encoding)
            for piece in re.split(r"([\r\n\t])", text)
        )


class LabShell:
    """Shell session on the network of a page."""

    def __init__(self, sitting: Sitting, module: str, step: str, shell: ShellActivity) -> None:
        self._sitting, self._module, self._step, self._shell = sitting, module, step, shell
        self._goals = WatchedGoals(module, step, shell, self._record)
        self._reported = self._goals.board
        self._output = PlainOutput(sitting.console.encoding, sitting.console.lines.echoes)
        self._trouble = ""

    async def open(self, host: str) -> None:
        """Open the shell on `host`, wait until it ends, and report its runs.

        Raises:
            TutorError: The lab cannot open the shell, or has ended.
        """
        console, runs = self._sitting.console, list[GrowingRun]()
        console.say(f"Starting the lab for a shell on {host}. exit ends the shell and comes back here.")
        try:
            await self._sitting.runs.until_stopped(asyncio.create_task(self._session(host, runs)))
        finally:
            self._goals.close()
        console.say("The shell has ended.")
        if self._trouble:
            console.say(f"Not saved: {self._trouble}.")
        console.say(*board_lines(self._goals.board))
        for ended in runs:
            console.say(*[each async for each in self._run_lines(ended)])

    async def _session(self, host: str, runs: list[GrowingRun]) -> None:
        size = shutil.get_terminal_size()
        opened = self._sitting.runs.lab.session(
            self._shell.experiment, self._shell.kernel_requirements, self._shell.fault
        )
        async with opened as (session, environment):
            terminal = session.shell(host, size.lines, size.columns)
            conducted = ConductedSession(session, environment, self._sitting.journal.runs)
            following = asyncio.create_task(self._follow(conducted))
            try:
                try:
                    await self._connect(terminal)
                finally:
                    # Leave even if the terminal is closed: leaving copies the files in ~ out of the lab.
                    await asyncio.shield(session.leave())
                done, _ = await asyncio.wait([following], timeout=_LAST_EVENTS)
                if done:
                    await following
            finally:
                following.cancel()
                with contextlib.suppress(asyncio.CancelledError, TutorError):
                    await following
                runs += conducted.ended

    async def _connect(self, terminal: LabTerminal) -> None:
        lines = self._sitting.console.lines
        if lines.echoes:
            await own_terminal.connect(terminal, self._show, _SETUP)
            return
        feeding: asyncio.Task[None] | None = None
        try:
            while data := await terminal.read():
                # Lines typed before the first prompt would be echoed twice.
                feeding = feeding or asyncio.create_task(self._feed(terminal))
                self._show(data)
        finally:
            if feeding is not None:
                feeding.cancel()
                await asyncio.wait([feeding])

    async def _feed(self, terminal: LabTerminal) -> None:
        """Type the student's lines up to `exit`; later lines belong to the dialogue."""
        terminal.write(_SETUP)
        line = ""
        while line.strip() != "exit":
            try:
                line = await self._sitting.console.lines.read_line()
            except EndOfInput:
                line = "exit"
            terminal.write(f"{line}\n".encode())

    def _show(self, data: bytes) -> None:
        self._goals.printed(self._module, data)
        self._sitting.console.output.write(self._output.text(data))
        self._report_goals()

    async def _follow(self, conducted: ConductedSession) -> None:
        async with conducted:
            async for event in conducted:
                await self._goals.take(event, conducted)
                self._report_goals()

    def _report_goals(self) -> None:
        board, before = self._goals.board, self._reported
        if board is before:
            return
        self._reported = board
        for line in news(before, board):
            end = "\r\n" if self._sitting.console.lines.echoes else "\n"  # the terminal is raw
            self._sitting.console.output.write(f"{end}{readable(line, self._sitting.console.encoding)}{end}")

    def _record(self, shell: ShellActivity, given: Given, session: SessionRecord) -> None:
        journal, page = self._sitting.journal, (self._module, self._step)
        try:
            journal.record_goals(*page, shell.id, session)
            journal.respond(*page, shell.id, Response(given, shell.mark(given).correct))
        except JournalError as error:
            self._trouble = str(error)

    async def _run_lines(self, ended: GrowingRun) -> AsyncIterator[str]:
        live = Live(self._module, self._step, ended.run, state="ended", from_shell=True)
        live.unsaved = ended.unsaved
        live.report = await background.report(ended.run)
        yield f"Your run {ended.run.id}:"
        for line in result.outcome(live):
            yield line
        if not self._shell.fault or self._goals.board.done:
            for line in result.explanation(live):
                yield line


def news(before: GoalBoard, now: GoalBoard) -> Iterator[str]:
    """Yield the changes between two states of the goals."""
    for old, new in zip(before.goals, now.goals, strict=True):
        if new.ticked != old.ticked:
            yield f"{'Goal reached' if new.ticked else 'No longer reached'}: {inline_text(new.text)}."
        elif new.near is not None and new.near != old.near:
            yield f"Almost: {inline_text(new.near.text)}"
    if now.printed is not None and now.printed != before.printed:
        yield f"About that message: {inline_text(now.printed.text)}"


def board_lines(board: GoalBoard) -> Iterator[str]:
    """Yield the state of every goal."""
    yield f"{len(board.reached)} of {len(board.goals)} goals are reached."
    for goal in board.goals:
        state = "reached" if goal.ticked else "open" if goal.due else "open, after the goals before it"
        yield f"{inline_text(goal.text)}: {state}."
