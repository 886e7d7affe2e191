"""Votes on the questions of a lecture.

Answers are in `votes.jsonl` before they are acknowledged. No wall clock is used: a monotonic clock measures how
long each vote was open.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.room.asked import Answer, AskedQuestion
from tcptutor.room.flows import FLOWS, FlowMeter, OwnFlow
from tcptutor.room.polls import Poll, PollRecord
from tcptutor.room.talk import AlgorithmTotal, MarkedValue, PollView, Suggestion, Tally
from tcptutor.room.vote_events import (
    AnswerGiven,
    DiscussionStarted,
    FlowsMeasured,
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
from tcptutor.room.voters import MOST_VOTERS, Voters

MOST_CHANGES = 50
"""Most answers of a voter per round."""


class Receipt(msgspec.Struct, frozen=True):
    """Answer to a vote."""

    status: Literal["counted", "replaced", "closed"]
    message: str
    """Message for the voter, a single line."""


class VoterView(msgspec.Struct, frozen=True, kw_only=True):
    """View for a voter's page, without answers of other voters."""

    state: Literal["waiting", "voting", "closed", "discussing", "revealed"] = "waiting"
    poll: str = ""
    """Id to vote with; empty unless a vote is open."""
    round: Literal[1, 2] = 1
    text: str = ""
    """The question; Markdown."""
    setting: str = ""
    """Settings of the predicted or shared experiment, on a single line; empty for other questions."""
    choices: tuple[str, ...] = ()
    plain_unit: str = ""
    """Default unit of a number; empty for choices."""
    unit: str = ""
    """Kind of quantity of a number; empty for choices."""
    example: str = ""
    """Example of a numeric answer."""
    answer: Answer | None = None
    """The voter's own answer in this round."""
    answer_words: str = ""
    """The voter's answer in words, numbers with their unit."""
    results: tuple[Tally, ...] = ()
    """Tallies of all rounds, once revealed."""
    right: int | None = None
    """Index of the right choice, once revealed."""
    why_popular_wrong: str = ""
    """The most popular wrong answer with its feedback, once revealed; Markdown."""
    why_right: str = ""
    """Reason for the right answer, once revealed; Markdown."""
    measured: float | None = None
    """Measured value of a prediction, once revealed and measured."""
    flow: OwnFlow | None = None
    """The voter's flow in a room experiment, once its run has begun."""


class Votes:
    """Votes of a lecture. All calls are fast and come from a single thread."""

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
            lecture_id: Id of the lecture, part of the signature of its tokens.
            clock: Monotonic time in s.
            with_names: Store the names of voters; otherwise votes are anonymous and names are dropped.

        Raises:
            TutorError: The folder cannot be used, or is in use by a different process.
        """
        self._file = VotesFile(folder / "votes.jsonl")
        try:
            self._record = PollRecord(self._file.read())
            self._voters = Voters(folder / "votes.key", lecture_id, with_names=with_names)
        except TutorError:
            self._file.close()
            raise
        self._clock = clock
        self._opened_at = clock()
        for poll in self._record.polls:
            for answers in poll.answers:
                for voter in answers:
                    self._voters.see(voter)
        self._changes: dict[str, int] = {}
        """Answers by voter in this round."""
        self._view: PollView | None = None
        """Cached view of the question."""
        self._meter: FlowMeter | None = None
        self.on_change: Callable[[], None] = lambda: None
        self.version = 0
        """Version of the voters' views; increases with every change except a voter's own answer."""

    def close_file(self) -> None:
        """Close the file, at the end of the lecture process."""
        self._file.close()

    # Voters

    def join(self, name: str = "") -> str:
        """Return the token of a new voter.

        Raises:
            UsageError: The name is too long or not printable.
        """
        token = self._voters.join(name)
        self.on_change()
        return token

    @property
    def joined(self) -> int:
        """Number of voters who joined."""
        return self._voters.joined

    def vote(self, token: str, poll_id: str, answer: Answer) -> Receipt:
        """Count an answer, or replace the voter's earlier answer of this round.

        Raises:
            UnknownVoter: The token is not of this lecture.
            UsageError: The answer does not fit the question, or the voter has changed it too often.
            TutorError: The answer cannot be stored, and does not count.
        """
        voter = self._voters.find(token)
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
        """Return the view for the voter's page. Raises UnknownVoter."""
        voter = self._voters.find(token)
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
            setting=view.setting,
            choices=view.choices,
            plain_unit=view.plain_unit,
            unit=view.unit,
            example=poll.asked.example,
            answer=own.given if own else None,
            answer_words=poll.round.words(own) if own else "",
            results=view.results,
            right=view.right,
            why_popular_wrong=view.why_popular_wrong,
            why_right=view.why_right,
            measured=view.measured,
            flow=self._own_flow(voter.id),
        )

    # The teacher

    def open(self, asked: AskedQuestion) -> None:
        """Open the first vote on a question, or the second after a closed first vote with answers.

        Raises:
            UsageError: A vote is open.
            TutorError: The event cannot be stored, and has no effect. The other commands raise the same error.
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
        """End the vote; a second vote with answers reveals the results. No-op unless a vote is open."""
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
        """Set the measured value and the models' values, in the base unit. Raises UsageError without a question."""
        if (self._poll.measured, self._poll.models) != (measured, models):
            self._change(PollMeasured(measured, models))

    @property
    def picks(self) -> dict[str, int]:
        """Choice of each voter in the last round of a vote on algorithms; empty for other questions."""
        poll = self._record.current
        if poll is None or poll.asked.activity != FLOWS:
            return {}
        return {voter: int(answer.given) for voter, answer in poll.answers[-1].items()}

    @property
    def earlier_flows(self) -> tuple[AlgorithmTotal, ...]:
        """Results of the first vote's flows, once the room picks again; empty otherwise."""
        poll = self._record.current
        has_two = poll is not None and poll.asked.activity == FLOWS and len(poll.answers) > 1
        return poll.flows[0].totals if poll is not None and has_two and 0 in poll.flows else ()

    def show_flows(self, meter: FlowMeter | None) -> None:
        """Show the voters their flows, when the run begins and again when it has ended.

        A run that begins ends the vote on algorithms.
        """
        if meter is not None and not meter.has_begun and self.picks:
            self.close()
        self._meter = meter
        if meter is not None and (rates := meter.rates_of(self.picks)):
            with suppress(TutorError):  # on a full disk only the comparison is lost
                self._store(FlowsMeasured(meter.view().totals, rates))
        self.version += 1
        self.on_change()

    @property
    def asked(self) -> AskedQuestion | None:
        """Current question; None without a question."""
        return self._record.current.asked if self._record.current else None

    @property
    def view(self) -> PollView | None:
        """View of the question for the room; None without a question."""
        if self._view is None and self._record.current is not None:
            self._view = self._record.current.view()
        return self._view

    @property
    def right_share(self) -> float | None:
        """Share of right answers in the latest closed round, for the teacher only."""
        return self._record.current.right_share if self._record.current else None

    @property
    def suggestion(self) -> Suggestion | None:
        """Suggested next action after the first vote, for the teacher only."""
        return self._record.current.suggestion if self._record.current else None

    @property
    def remarks(self) -> tuple[str, ...]:
        """Messages for the teacher, a line each."""
        count = self._file.damaged
        if not count:
            return ()
        return (f"{count} damaged line{'s' if count > 1 else ''} of votes.jsonl: the other votes are there",)

    def report(self) -> VoteReport:
        """Return the results of all questions with a closed vote."""
        return report_polls(self._record.polls, joined=self.joined, names=self._record.names)

    @property
    def _poll(self) -> Poll:
        if self._record.current is None:
            raise UsageError("no question is open: open a vote first")
        return self._record.current

    def _own_flow(self, voter: str) -> OwnFlow | None:
        poll = self._record.current
        if poll is None or poll.asked.activity != FLOWS or self._meter is None:
            return None
        flow, first = self._meter.own(voter), poll.flows.get(0)
        if flow is None or first is None or voter not in first.rates or len(poll.answers) == 1:
            return flow
        algorithm = poll.asked.rounds[0].words(poll.answers[0][voter])
        return msgspec.structs.replace(flow, earlier_algorithm=algorithm, earlier_bps=first.rates[voter])

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


_STATES: dict[str, Literal["closed", "discussing", "revealed"]] = {
    "counted": "closed",
    "discussing": "discussing",
    "revealed": "revealed",
}
