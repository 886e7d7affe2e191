"""Voters, and votes on the questions of a lecture.

A voter is a token that the lecture signs: joining stores nothing, so a flood of joins leaves no trace, and a
restarted lecture process still knows its voters. Answers are in `votes.jsonl` before they are acknowledged. The only
clock is monotonic, and only reports how long a vote was open.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tcptutor.base import files
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.base.printable import is_printable
from tcptutor.room.asked import Answer, AskedQuestion
from tcptutor.room.polls import Poll, PollRecord
from tcptutor.room.talk import MarkedValue, PollView, Suggestion, Tally
from tcptutor.room.vote_events import (
    AnswerGiven,
    DiscussionStarted,
    PollCancelled,
    PollClosed,
    PollMeasured,
    PollOpened,
    PollReopened,
    PollRevealed,
    VoteEvent,
    VoterNamed,
    VotesFile,
)
from tcptutor.room.vote_report import VoteReport, report_polls

MOST_VOTERS = 3000
"""Voters per round, and voters that are counted as joined; a voter beyond it joins in place of one who left."""
MOST_CHANGES = 50
"""Answers of a voter per round."""
MOST_NAME_CHARACTERS = 40


class UnknownVoter(UsageError):
    """A token that this lecture did not sign."""


class Receipt(msgspec.Struct, frozen=True):
    """Answer to a vote."""

    status: Literal["counted", "replaced", "closed"]
    message: str
    """One line for the voter."""


class VoterView(msgspec.Struct, frozen=True, kw_only=True):
    """What a voter's page shows now: never another voter's answer."""

    state: Literal["waiting", "voting", "closed", "discussing", "revealed"] = "waiting"
    poll: str = ""
    """Id to vote with; empty unless a vote is open."""
    round: Literal[1, 2] = 1
    text: str = ""
    """The question; Markdown."""
    choices: tuple[str, ...] = ()
    plain_unit: str = ""
    """Unit of a number without one; empty for choices."""
    unit: str = ""
    """Kind of quantity of a number; empty for choices."""
    example: str = ""
    """Example of a numeric answer."""
    answer: Answer | None = None
    """The voter's own answer in this round."""
    answer_words: str = ""
    """The own answer in words, numbers with their unit."""
    results: tuple[Tally, ...] = ()
    """Tallies of all rounds, once revealed."""
    right: int | None = None
    """Index of the right choice, once revealed."""
    why_popular_wrong: str = ""


class _Voter(NamedTuple):
    id: str
    name: str


class Votes:
    """Votes of a lecture. All calls are quick and from one thread."""

    def __init__(
        self,
        folder: Path,
        lecture_id: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        with_names: bool = False,
    ) -> None:
        """Begin or resume the votes in `folder`.

        Args:
            folder: Folder of the lecture.
            lecture_id: Id of the lecture, which its tokens are for.
            clock: Monotonic time in s.
            with_names: Store the names of voters; otherwise votes are anonymous and names are dropped.

        Raises:
            TutorError: The folder cannot be used, or another process uses it.
        """
        self._file = VotesFile(folder / "votes.jsonl")
        try:
            self._record = PollRecord(self._file.read())
            self._key = _signing_key(folder / "votes.key")
        except TutorError:
            self._file.close()
            raise
        self._lecture = lecture_id
        self._clock = clock
        self._opened_at = clock()
        self._with_names = with_names
        self._present: OrderedDict[str, None] = OrderedDict()
        """Ids of joined voters; those who were seen last are at the end."""
        for poll in self._record.polls:
            for answers in poll.answers:
                self._see(*answers)
        self._changes: dict[str, int] = {}
        """Answers by voter in this round."""
        self._view: PollView | None = None
        """Cached view of the question."""
        self.on_change: Callable[[], None] = lambda: None
        self.version = 0
        """Increases when what voters see changes, apart from their own answers."""

    def close_file(self) -> None:
        """Close the file: the lecture process ends."""
        self._file.close()

    # Voters

    def join(self, name: str = "") -> str:
        """Return the token of a new voter.

        Raises:
            UsageError: The name is too long or not printable.
        """
        name = " ".join(name.split(" "))
        if len(name) > MOST_NAME_CHARACTERS:
            raise UsageError(f"the name is longer than {MOST_NAME_CHARACTERS} characters: shorten it")
        if not is_printable(name):
            raise UsageError("the name has a control character: write it with letters, digits and spaces")
        shown = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=") if self._with_names else ""
        signed = f"{secrets.token_hex(8)}.{shown}"
        self._see(signed.partition(".")[0])
        self.on_change()
        return f"{signed}.{self._signature(signed)}"

    @property
    def joined(self) -> int:
        """Number of voters who joined."""
        return len(self._present)

    def vote(self, token: str, poll_id: str, answer: Answer) -> Receipt:
        """Count an answer, or replace the voter's earlier answer of this round.

        Raises:
            UnknownVoter: The token is not of this lecture.
            UsageError: It is not an answer to the question, or the voter has changed it too often.
            TutorError: It cannot be stored, and does not count.
        """
        voter = self._voter(token)
        poll = self._record.current
        if poll is None or not poll.is_open or poll.id != poll_id:
            return Receipt("closed", "This vote is closed: your answer came too late.")
        counted = poll.round.count(answer)
        words = poll.round.words(counted)
        before = poll.answers[-1].get(voter.id)
        if before == counted:  # repeated because its receipt was lost, or pressed twice
            return Receipt("counted", f"Counted: {words}")
        self._check_limits(poll, voter.id, is_new=before is None)
        if voter.name and voter.id not in self._record.names:
            self._store(VoterNamed(voter.id, voter.name))
        self._store(AnswerGiven(voter.id, counted))
        self._changes[voter.id] = self._changes.get(voter.id, 0) + 1
        self.on_change()
        if before is None:
            return Receipt("counted", f"Counted: {words}")
        return Receipt("replaced", f"Your earlier answer is replaced: {words}")

    def voter_view(self, token: str) -> VoterView:
        """Return what the voter's page shows now. Raises UnknownVoter."""
        voter = self._voter(token)
        poll = self._record.current
        if poll is None:
            return VoterView()
        view = self.view
        assert view is not None
        own = poll.answers[-1].get(voter.id)
        return VoterView(
            state="voting" if poll.is_open else _STATES[poll.phase],
            poll=poll.id if poll.is_open else "",
            round=view.round,
            text=view.text,
            choices=view.choices,
            plain_unit=view.plain_unit,
            unit=view.unit,
            example=poll.asked.example,
            answer=own.given if own else None,
            answer_words=poll.round.words(own) if own else "",
            results=view.results,
            right=view.right,
            why_popular_wrong=view.why_popular_wrong,
        )

    # The teacher

    def open(self, asked: AskedQuestion) -> None:
        """Open the first vote on a question; or the second, if this question's first vote is closed.

        Raises:
            UsageError: A vote is open.
            TutorError: It cannot be stored; nothing changes. The other commands raise the same.
        """
        poll = self._record.current
        if poll is not None and poll.is_open:
            raise UsageError("a vote is open: close it first")
        again = (
            poll is not None and poll.asked.place == asked.place and poll.phase in ("counted", "discussing")
        )
        self._change(PollReopened() if again else PollOpened(asked))
        self._opened_at = self._clock()
        self._changes = {}

    def close(self) -> None:
        """End the vote; after the second vote the results are revealed. No-op unless a vote is open."""
        if self._record.current is not None and self._record.current.is_open:
            self._change(PollClosed(max(0.0, round(self._clock() - self._opened_at, 1))))

    def discuss(self) -> None:
        """Start the discussion after the first vote.

        Raises:
            UsageError: The first vote is not closed, or the results are known.
        """
        if self._poll.phase != "counted":
            raise UsageError("a discussion follows the first vote: close a first vote first")
        self._change(DiscussionStarted())

    def reveal(self) -> None:
        """Show the results; an open vote ends. Raises UsageError without a question."""
        poll = self._poll
        self.close()
        if poll.phase != "revealed":
            self._change(PollRevealed())

    def compare(self, measured: float | None, models: tuple[MarkedValue, ...] = ()) -> None:
        """Set the measured value and those of models, in the base unit. Raises UsageError without a question."""
        if (self._poll.measured, self._poll.models) != (measured, models):
            self._change(PollMeasured(measured, models))

    def cancel(self) -> None:
        """Withdraw the question: its answers do not count. No-op without a question."""
        if self._record.current is not None:
            self._change(PollCancelled())

    @property
    def view(self) -> PollView | None:
        """What the room may see of the question; None without one."""
        if self._view is None and self._record.current is not None:
            self._view = self._record.current.view()
        return self._view

    @property
    def right_share(self) -> float | None:
        """Share of right answers in the round that was closed last: for the teacher alone."""
        return self._record.current.right_share if self._record.current else None

    @property
    def suggestion(self) -> Suggestion | None:
        """Suggested next action after the first vote: for the teacher alone."""
        return self._record.current.suggestion if self._record.current else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Messages for the teacher, a line each."""
        count = self._file.damaged
        if not count:
            return ()
        return (f"{count} damaged line{'s' if count > 1 else ''} of votes.jsonl: the other votes are there",)

    def report(self) -> VoteReport:
        """Return the results of all questions whose vote has ended."""
        return report_polls(self._record.polls, joined=self.joined, names=self._record.names)

    @property
    def _poll(self) -> Poll:
        if self._record.current is None:
            raise UsageError("no question is open: open a vote first")
        return self._record.current

    def _change(self, event: VoteEvent) -> None:
        self._store(event, sync=True)
        self.version += 1
        self.on_change()

    def _store(self, event: VoteEvent, *, sync: bool = False) -> None:
        self._file.append(event, sync=sync)
        self._record.apply(event)
        self._view = None

    def _check_limits(self, poll: Poll, voter: str, *, is_new: bool) -> None:
        if is_new and len(poll.answers[-1]) >= MOST_VOTERS:
            raise UsageError(
                f"{MOST_VOTERS} voters have answered, which is the most: your answer is not counted"
            )
        if self._changes.get(voter, 0) >= MOST_CHANGES:
            raise UsageError(f"you have changed your answer {MOST_CHANGES} times: the last one counts")

    def _voter(self, token: str) -> _Voter:
        """Return the voter of a token, who is present from now on. Raises UnknownVoter."""
        signed, _, signature = token.rpartition(".")
        if not token.isascii() or not hmac.compare_digest(signature, self._signature(signed)):
            raise UnknownVoter("this page is of another lecture: join again")
        id, _, shown = signed.partition(".")
        self._see(id)
        return _Voter(id, base64.urlsafe_b64decode(shown + "=" * (-len(shown) % 4)).decode())

    def _see(self, *ids: str) -> None:
        for id in ids:
            self._present[id] = None
            self._present.move_to_end(id)
        while len(self._present) > MOST_VOTERS:
            self._present.popitem(last=False)

    def _signature(self, signed: str) -> str:
        return hmac.new(self._key, f"{self._lecture}/{signed}".encode(), hashlib.sha256).hexdigest()[:32]


_STATES: dict[str, Literal["closed", "discussing", "revealed"]] = {
    "counted": "closed",
    "discussing": "discussing",
    "revealed": "revealed",
}


def _signing_key(path: Path) -> bytes:
    """Return the key that signs the lecture's tokens, made at the first call. Raises TutorError."""
    with contextlib.suppress(OSError):
        key = files.read_plain(path, 32)
        if len(key) == 32:
            return key
    key = secrets.token_bytes(32)
    with files.atomic(path, "choose another data folder", private=True) as part:
        part.write_bytes(key)
    return key
