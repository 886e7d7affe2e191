"""`tcptutor join`: vote in a lecture from a terminal, line by line."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from statistics import median

from tcptutor.base import units
from tcptutor.base.columns import wrapped
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.base.printable import escaped
from tcptutor.commands.output import print_lines, remark, width
from tcptutor.course.page_references import without_links
from tcptutor.room.asked import LETTERS
from tcptutor.room.flows import OwnFlow
from tcptutor.room.votes import VoterView
from tcptutor.room.web.join_client import LectureClient, LectureLost, VotesEnded

_AGAIN_S = 2.0
_LONGEST_LINE = 4096
_NUMBERS = tuple(str(number) for number in range(1, len(LETTERS) + 1))
"""Numbers accepted as names of choices, next to letters."""
_VOTES = ("First vote, on your own", "Second vote, after the discussion")
_Event = VoterView | TutorError


def join(target: str, name: str) -> int:
    """Join a lecture, vote until it ends or the student leaves, and return the exit code.

    Raises:
        TutorError: The lecture cannot be joined.
    """
    client = LectureClient(target)
    client.join(name)
    print_lines(["You're in. Type the letter of a choice, or a number with its unit; q leaves."])
    return _Voting(client).take_part()


class _Voting:
    """A student at a terminal: views arrive in a thread, lines from standard input."""

    def __init__(self, client: LectureClient) -> None:
        self._client = client
        self._events: SimpleQueue[_Event] = SimpleQueue()
        self._wake, self._woken = os.pipe()
        self._view: VoterView | None = None
        self._typed = b""

    def take_part(self) -> int:
        threading.Thread(target=self._follow, daemon=True).start()
        try:
            while True:
                ready, _, _ = select.select([self._wake, sys.stdin], [], [])
                if self._wake in ready:
                    os.read(self._wake, 64)
                    if self._show_events():
                        return 0
                if sys.stdin in ready and not self._read_lines():
                    return 0
        finally:
            os.close(self._wake)
            os.close(self._woken)

    def _follow(self) -> None:
        """Wait for views, for as long as the program runs."""
        is_lost = False
        while True:
            try:
                answer = self._client.next_view()
                is_lost = False
                if answer is not None:
                    self._put(answer.view)
            except LectureLost as error:
                if not is_lost:
                    self._put(error)
                is_lost = True
                time.sleep(_AGAIN_S)
            except TutorError as error:
                return self._put(error)

    def _put(self, event: _Event) -> None:
        self._events.put(event)
        with contextlib.suppress(OSError):  # the student has left
            os.write(self._woken, b".")

    def _show_events(self) -> bool:
        """Print pending events; return True after the end."""
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return False
            match event:
                case VoterView():
                    if event != self._view:
                        self._view = event
                        print_lines(["", *view_lines(event, width() or 80)])
                case LectureLost():
                    remark("connection lost; trying again")
                case VotesEnded():
                    print_lines(["", str(event)])
                    return True
                case _:
                    raise event

    def _read_lines(self) -> bool:
        """Answer with each line that was typed; return False after the last."""
        data = os.read(sys.stdin.fileno(), _LONGEST_LINE)
        *lines, self._typed = (self._typed + data).split(b"\n")
        self._typed = self._typed[-_LONGEST_LINE:]
        for line in lines:
            text = line.decode(errors="replace").strip()
            if text.lower() in ("q", "quit", "exit"):
                return False
            if text:
                self._vote(text)
        return bool(data)

    def _vote(self, text: str) -> None:
        view = self._view
        if view is None or view.state != "voting":
            return remark("no vote is open: wait for the next question")
        answer: int | str = text
        if view.choices:
            count = len(view.choices)
            names = {name: at % count for at, name in enumerate((*LETTERS[:count], *_NUMBERS[:count]))}
            if text.upper() not in names:
                return remark(f"type a letter from A to {LETTERS[count - 1]}")
            answer = names[text.upper()]
        try:
            print_lines([self._client.vote(view.poll, answer).message])
        except (UsageError, LectureLost) as error:
            remark(f"not counted: {error}")
        return None


def view_lines(view: VoterView, columns: int) -> Iterator[str]:
    """Yield the lines of a voter's view."""
    match view.state:
        case "waiting":
            yield "The next question appears here."
            return
        case "voting":
            yield _VOTES[view.round - 1]
        case "closed":
            yield "The vote is closed. Look at the screen in front."
        case "discussing":
            yield "Discuss: find somebody who answered differently, and convince each other."
        case "revealed":
            yield "Results"
    for line in without_links(view.text).splitlines():
        yield from wrapped(line, columns) or [""]
    yield from wrapped(escaped(view.setting), columns)
    for at, choice in enumerate(view.choices):
        first, *rest = wrapped(without_links(choice), columns, "     ")
        yield f"  {LETTERS[at]}  {first.lstrip()}"
        yield from rest
        if notes := _choice_notes(view, at):
            yield f"     {notes}"
    yield from _numbers(view)
    if view.flow is not None:
        yield _own_flow(view.flow)
    for reason in filter(None, (view.why_right, view.why_popular_wrong)):
        for line in without_links(reason).splitlines():
            yield from wrapped(line, columns)
    if view.state == "voting":
        yield from _how_to_answer(view)


def _choice_notes(view: VoterView, at: int) -> str:
    shares = [
        f"{name} vote {tally.percentages[at]} %"
        for name, tally in zip(("first", "second"), view.results, strict=False)
    ]
    right = ["right"] if at == view.right else []
    return ", ".join([*right, *(["yours"] if at == view.answer else []), *shares])


def _numbers(view: VoterView) -> Iterator[str]:
    if view.choices:
        return
    if view.answer_words:
        yield f"Your answer: {view.answer_words}"
    for name, tally in zip(("First", "Second"), view.results, strict=False):
        if tally.values:
            middle = f", half of them up to {units.rounded(median(tally.values), view.unit)}"
            target = view.measured if tally.right_value is None else tally.right_value
            kind = "measured" if tally.right_value is None else "right"
            right = "" if target is None else f"; {kind}: {units.rounded(target, view.unit)}"
            yield f"{name} vote: {tally.answered} answers{middle}{right}"


def _own_flow(flow: OwnFlow) -> str:
    fair = f"an equal share is {units.rate(flow.fair_bps, 2)}"
    if flow.bps is None:
        return f"Your flow: {flow.algorithm}, one of {flow.flows}; {fair}"
    before = (
        f"{flow.earlier_algorithm}, {units.rate(flow.earlier_bps, 2)} → " if flow.earlier_algorithm else ""
    )
    rate = units.rate(flow.bps, 2)
    return f"Your flow: {before}{flow.algorithm}, {rate}, place {flow.rank} of {flow.flows}; {fair}"


def _how_to_answer(view: VoterView) -> Iterator[str]:
    if view.choices:
        yield f"Your answer (A to {LETTERS[len(view.choices) - 1]}):"
    else:
        plain = f", or a plain number in {view.plain_unit}" if view.plain_unit else ""
        yield f"Your answer (like {view.example}{plain}):"
