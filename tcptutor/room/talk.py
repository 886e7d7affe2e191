"""What is on screen in a lecture now: the state that every terminal of the lecture shows."""

from __future__ import annotations

from typing import Literal

import msgspec

from tcptutor.room.percentages import whole_percentages

RunSource = Literal["live", "prepared"]
RunState = Literal["none", "starting", "running", "ended", "failed"]
PollPhase = Literal["voting", "counted", "discussing", "voting again", "revealed"]
"""Peer instruction: the first vote, its number of answers only, the discussion, the second vote, both results."""
Suggestion = Literal["explain", "discuss", "go on"]


class LecturePlace(msgspec.Struct, frozen=True, order=True):
    """A place in a lecture."""

    slide: int = 0
    step: int = 0
    """Number of revealed steps after the first."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """State of the run on the slide."""

    state: RunState = "none"
    source: RunSource = "live"
    id: str = ""
    """Id of the run whose events the lecture process sends; empty before the first."""
    problem: str = ""
    """Reason why a live run failed; one line."""
    is_stopped: bool = False
    """True if the teacher stopped it before its end."""
    has_prepared: bool = False
    """True if `--check` has prepared a run that can be shown instead."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Votes of one round."""

    counts: tuple[int, ...] = ()
    """Votes per choice in the question's order; empty for a numeric prediction."""
    values: tuple[float, ...] = ()
    """Numeric votes in base units, sorted; empty for a choice question."""
    answered: int = 0
    right: int | None = None
    """Right votes; None for a prediction, which is neither right nor wrong."""
    right_value: float | None = None
    """Right value of a numeric question in this round, in the base unit."""

    @property
    def percentages(self) -> tuple[int, ...]:
        """Share of each choice in percent."""
        return whole_percentages(self.counts)


class MarkedValue(msgspec.Struct, frozen=True):
    """A value to mark on a histogram, such as a model's prediction."""

    label: str
    value: float
    """In the base unit."""
    tolerance: float = 0.0
    """Relative tolerance of a model."""


class PollView(msgspec.Struct, frozen=True, kw_only=True):
    """What the room may see of a poll."""

    activity: str
    text: str
    """The question with the numbers of this round; Markdown."""
    setting: str = ""
    """Settings of the experiment that is predicted or shared, in a line; empty for other questions."""
    choices: tuple[str, ...] = ()
    """Choices with the numbers of this round; empty for a numeric question."""
    unit: str = ""
    """Kind of quantity of a numeric question, as in `base.units`: "rate", "time", "size", ..."""
    plain_unit: str = ""
    """Unit of a number without one, such as "Mbit/s"."""
    phase: PollPhase = "voting"
    round: Literal[1, 2] = 1
    answered: int = 0
    results: tuple[Tally, ...] = ()
    """Empty until both rounds are over or the teacher ends the poll: an early histogram biases the second vote."""
    right: int | None = None
    """Index of the right choice, once revealed."""
    why_popular_wrong: str = ""
    """The most popular wrong answer with its feedback, once revealed; Markdown."""
    why_right: str = ""
    """Reason for the right answer, once revealed; Markdown."""
    gain: float | None = None
    """Normalized gain from the first vote to the second, among those who voted twice; once revealed."""
    models: tuple[MarkedValue, ...] = ()
    """What models predict; once revealed."""
    measured: float | None = None
    """Measured value of a prediction, once revealed and measured."""


class FlowBar(msgspec.Struct, frozen=True, kw_only=True):
    """A flow of a room experiment."""

    algorithm: str
    voters: int
    """Students who own it; 0 for a flow that the teacher added."""
    bps: float = 0.0
    """Payload, bit/s: of the last second, or of the whole measured time once the run has ended."""


class AlgorithmTotal(msgspec.Struct, frozen=True, kw_only=True):
    """All flows of an algorithm in a room experiment."""

    algorithm: str
    flows: int
    voters: int
    bps: float = 0.0
    """Payload of all its flows, bit/s."""


class FlowsView(msgspec.Struct, frozen=True, kw_only=True):
    """A room experiment: the flows that the students own on a shared bottleneck, and what each gets."""

    state: Literal["ready", "running", "stopped", "ended"] = "ready"
    """Stopped also if it failed: without a result."""
    flows: tuple[FlowBar, ...]
    """Grouped by algorithm."""
    totals: tuple[AlgorithmTotal, ...]
    """By algorithm, in the order of `flows`."""
    offered: tuple[str, ...]
    """Algorithms that the room could pick, so that each keeps its color from run to run."""
    link_bps: float
    """Rate of the bottleneck, bit/s."""
    fair_bps: float
    """Equal share of the bottleneck's payload, bit/s."""
    jain_index: float | None = None
    """Fairness of the flows' rates; None without traffic."""
    t: float = 0.0
    """Time of the run, s."""
    seconds: float
    """Duration of the run, s."""
    warmup: float
    """Part of `seconds` at the start that the results leave out."""
    earlier: tuple[AlgorithmTotal, ...] = ()
    """The flows of the first vote in their run, to compare with those of the second; empty without one."""


class AudienceView(msgspec.Struct, frozen=True, kw_only=True):
    """How to join, and how many have."""

    address: str = ""
    """URL of the page to join; empty if votes are off."""
    code: str = ""
    joined: int = 0
    problem: str = ""
    """Reason why votes are off, such as a missing extra; one line."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """All that is on screen now. Safe to show to the room."""

    place: LecturePlace = LecturePlace()
    is_black: bool = False
    run: RunView = RunView()
    poll: PollView | None = None
    flows: FlowsView | None = None
    """The room experiment on the slide, once its flows are known."""
    audience: AudienceView = AudienceView()
    fronts: int = 0
    """Connected presenting terminals."""


class TeacherView(msgspec.Struct, frozen=True, kw_only=True):
    """What only the speaker sees: sent to presenting terminals' notes, never to watchers or voters."""

    elapsed_s: float = 0.0
    """Time since the first slide, without pauses of the lecture process."""
    slide_s: float = 0.0
    """Time on this slide."""
    planned_s: float = 0.0
    """Planned time up to the end of this slide; 0 without a plan."""
    right_share: float | None = None
    """Share of right votes in the round that was closed last; None before, and for predictions."""
    suggestion: Suggestion | None = None
    answer: str = ""
    """Right answer to the current poll, with the numbers of its round; empty for a prediction."""
    remarks: tuple[str, ...] = ()
    """What the speaker should know, a line each."""
