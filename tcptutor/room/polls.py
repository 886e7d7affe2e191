"""Polls of a lecture as a fold over vote events: phases, answers of both rounds, and their tallies.

    PollOpened  -> voting -> PollClosed -> counted -> DiscussionStarted -> discussing
    PollReopened (from counted or discussing) -> voting again -> PollClosed -> revealed
    PollRevealed (from any phase) -> revealed

Closing a round without answers counts as a mistake: PollReopened opens the same round again.

Events that do not fit the state, as after a damaged line of the file, have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

import msgspec

from tcptutor.room.asked import AskedQuestion, AskedRound, CountedAnswer
from tcptutor.room.talk import MarkedValue, PollPhase, PollView, Suggestion, Tally
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
)

EXPLAIN_BELOW, GO_ON_ABOVE = 0.35, 0.70
"""Shares of right answers between which a discussion helps most (Crouch and Mazur 2001)."""


class Poll(msgspec.Struct, kw_only=True):
    """Question with its answers."""

    number: int
    """Number of the poll in its lecture, from 1."""
    asked: AskedQuestion
    phase: PollPhase = "voting"
    answers: list[dict[str, CountedAnswer]] = msgspec.field(default_factory=lambda: [{}])
    """Answers by voter, for each round so far."""
    seconds: list[float] = []
    """Seconds that each closed round was open."""
    measured: float | None = None
    models: tuple[MarkedValue, ...] = ()
    flows: dict[int, FlowsMeasured] = {}
    """Results of the flows that a round picked, by index of the round."""

    @property
    def is_open(self) -> bool:
        """True while votes count."""
        return self.phase in ("voting", "voting again")

    @property
    def id(self) -> str:
        """Id of this round for voters, so that a late answer to the first round never counts in the second."""
        return f"{self.number}-{len(self.answers)}"

    @property
    def round(self) -> AskedRound:
        """Question as asked in this round."""
        return self.asked.rounds[len(self.answers) - 1]

    def tally(self, number: int) -> Tally:
        """Return the tally of a round by its index."""
        asked, answers = self.asked.rounds[number], self.answers[number].values()
        counts = [0] * len(asked.choices)
        for answer in answers:
            if asked.choices:
                counts[int(answer.given)] += 1
        known = [answer.right for answer in answers if answer.right is not None]
        return Tally(
            counts=tuple(counts),
            values=tuple(sorted(answer.value for answer in answers if answer.value is not None)),
            answered=len(answers),
            right=sum(known) if known or asked.right or asked.numeric else None,
            right_value=asked.right_value,
        )

    @property
    def right_share(self) -> float | None:
        """Share of right answers in the latest closed round; None before, without answers, and for predictions."""
        if not self.seconds:
            return None
        tally = self.tally(len(self.seconds) - 1)
        return tally.right / tally.answered if tally.right is not None and tally.answered else None

    @property
    def suggestion(self) -> Suggestion | None:
        """Suggested next action after the first vote."""
        share = self.right_share
        if share is None or self.phase != "counted":
            return None
        return "explain" if share < EXPLAIN_BELOW else "discuss" if share <= GO_ON_ABOVE else "go on"

    @property
    def gain(self) -> float | None:
        """Normalized gain of repeat voters (Hake 1998); None without any, or if all were right at first."""
        pairs = self.twice
        if not pairs:
            return None
        first, second = (fmean(column) for column in zip(*pairs, strict=True))
        return (second - first) / (1 - first) if first < 1 else None

    @property
    def twice(self) -> list[tuple[bool, bool]]:
        """Correctness in both rounds of each voter who voted twice."""
        if len(self.answers) < 2:
            return []
        first, second = self.answers
        marks = ((answer.right, second[voter].right) for voter, answer in first.items() if voter in second)
        return [(before, after) for before, after in marks if before is not None and after is not None]

    def view(self) -> PollView:
        """Return the view for the room, with results only after they are revealed."""
        asked, round_ = self.asked, self.round
        view = PollView(
            activity=asked.activity,
            text=round_.text,
            setting=asked.setting,
            choices=round_.choices,
            unit=asked.unit,
            plain_unit=asked.plain_unit,
            phase=self.phase,
            round=2 if len(self.answers) == 2 else 1,
            answered=len(self.answers[-1]),
        )
        if self.phase != "revealed":
            return view
        return msgspec.structs.replace(
            view,
            results=tuple(map(self.tally, range(len(self.answers)))),
            right=next(iter(round_.right), None),
            why_popular_wrong=self._why_popular_wrong(),
            why_right=round_.why_right,
            gain=self.gain,
            models=self.models,
            measured=self.measured,
        )

    def _why_popular_wrong(self) -> str:
        """Return the feedback on the popular wrong answer of the latest round with wrong answers."""
        rounds = zip(self.asked.rounds, self.answers, strict=False)
        reasons = [asked.why_popular_is_wrong(tuple(answers.values())) for asked, answers in rounds]
        return next(filter(None, reversed(reasons)), "")


class PollRecord:
    """All polls of a lecture."""

    def __init__(self, events: Iterable[VoteEvent] = ()) -> None:
        self.current: Poll | None = None
        self.past: list[Poll] = []
        """Earlier polls, in order."""
        self.names: dict[str, str] = {}
        for event in events:
            self.apply(event)

    @property
    def polls(self) -> list[Poll]:
        """All polls, in order."""
        return [*self.past, *([self.current] if self.current else [])]

    def apply(self, event: VoteEvent) -> None:
        """Apply an event to the state."""
        poll = self.current
        match event:
            case PollOpened(asked):
                if poll:
                    self.past.append(poll)
                self.current = Poll(number=len(self.past) + 1, asked=asked)
            case VoterNamed(voter, name):
                self.names[voter] = name
            case _ if poll is not None:
                _change(poll, event)
            case _:
                pass


def _change(poll: Poll, event: VoteEvent) -> None:
    match event:
        case PollReopened() if len(poll.answers) == 1 and not poll.answers[0]:
            poll.seconds.clear()
            poll.phase = "voting"
        case PollReopened() if len(poll.answers) == 1:
            poll.seconds[:] = poll.seconds or [0.0]
            poll.answers.append({})
            poll.phase = "voting again"
        case AnswerGiven(voter, answer) if poll.is_open and poll.round.has(answer):
            poll.answers[-1][voter] = answer
        case PollClosed() if poll.phase == "voting again" and not poll.answers[-1]:
            poll.answers.pop()
            poll.phase = "counted"
        case PollClosed(seconds) if poll.is_open:
            poll.seconds.append(seconds)
            poll.phase = "counted" if len(poll.answers) == 1 else "revealed"
        case DiscussionStarted() if poll.phase == "counted":
            poll.phase = "discussing"
        case PollRevealed():
            poll.phase = "revealed"
        case PollMeasured(measured, models):
            poll.measured, poll.models = measured, models
        case FlowsMeasured() if not poll.is_open:
            poll.flows[len(poll.answers) - 1] = event
        case _:
            pass
