"""State of the screen in a lecture, which every terminal of the lecture shows."""

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
    """Place in a lecture."""

    slide: int = 0
    step: int = 0
    """Number of revealed steps after the first."""


class RunView(msgspec.Struct, frozen=True, kw_only=True):
    """State of the run on the slide."""

    state: RunState = "none"
    source: RunSource = "live"
    id: str = ""
    """Id of the run with events from the lecture process; empty before the first event."""
    problem: str = ""
    """Single-line reason for a failed live run."""
    is_stopped: bool = False
    """True if the teacher stopped it before its end."""
    has_prepared: bool = False
    """True if a prepared run can be shown instead."""


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """Votes of a round."""

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
    """Value to mark on a histogram, such as a model's prediction."""

    label: str
    value: float
    """In the base unit."""
    tolerance: float = 0.0
    """Relative tolerance of a model."""


class PollView(msgspec.Struct, frozen=True, kw_only=True):
    """View of a poll for the room."""

    activity: str
    text: str
    """The question with the numbers of this round; Markdown."""
    setting: str = ""
    """Settings of the predicted or shared experiment, on a single line; empty for other questions."""
    choices: tuple[str, ...] = ()
    """Choices with the numbers of this round; empty for a numeric question."""
    unit: str = ""
    """Kind of quantity of a numeric question, as in `base.units`: "rate", "time", "size", ..."""
    plain_unit: str = ""
    """Default unit of a number, such as "Mbit/s"."""
    phase: PollPhase = "voting"
    round: Literal[1, 2] = 1
    answered: int = 0
    results: tuple[Tally, ...] = ()
    """Tallies by round; empty until the poll has ended, because an early histogram biases the second vote."""
    right: int | None = None
    """Index of the right choice, once revealed."""
    why_popular_wrong: str = ""
    """The most popular wrong answer with its feedback, once revealed; Markdown."""
    why_right: str = ""
    """Reason for the right answer, once revealed; Markdown."""
    gain: float | None = None
    """Normalized gain of repeat voters from the first vote to the second, once revealed."""
    models: tuple[MarkedValue, ...] = ()
    """Values predicted by models, once revealed."""
    measured: float | None = None
    """Measured value of a prediction, once revealed and measured."""


class FlowBar(msgspec.Struct, frozen=True, kw_only=True):
    """Flow of a room experiment."""

    algorithm: str
    voters: int
    """Number of students who own the flow; 0 for a flow without an owner."""
    bps: float = 0.0
    """Payload, bit/s: over the last second, or over the measured time once the run has ended."""


class AlgorithmTotal(msgspec.Struct, frozen=True, kw_only=True):
    """All flows of an algorithm in a room experiment."""

    algorithm: str
    flows: int
    voters: int
    bps: float = 0.0
    """Payload of all its flows, bit/s."""


class FlowsView(msgspec.Struct, frozen=True, kw_only=True):
    """Room experiment: the students' flows on a shared bottleneck, and their rates."""

    state: Literal["ready", "running", "stopped", "ended"] = "ready"
    """`stopped` includes failed runs: both have no result."""
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
    """Results of the first vote's flows, to compare with the second vote; empty without such results."""


class AudienceView(msgspec.Struct, frozen=True, kw_only=True):
    """Address and code for joining, and the number of voters who joined."""

    address: str = ""
    """URL of the page to join; empty if votes are off."""
    code: str = ""
    joined: int = 0
    problem: str = ""
    """Single-line reason why votes are off, such as a missing extra."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """Complete state of the screen. Safe to show to the room."""

    place: LecturePlace = LecturePlace()
    is_black: bool = False
    run: RunView = RunView()
    poll: PollView | None = None
    flows: FlowsView | None = None
    """Room experiment on the slide, once its flows are known."""
    audience: AudienceView = AudienceView()
    fronts: int = 0
    """Connected presenting terminals."""


class TeacherView(msgspec.Struct, frozen=True, kw_only=True):
    """Private view of the speaker, sent to `present` and `notes` terminals, never to watchers or voters."""

    elapsed_s: float = 0.0
    """Time since the first slide, without pauses of the lecture process."""
    slide_s: float = 0.0
    """Time on this slide."""
    planned_s: float = 0.0
    """Planned time up to the end of this slide; 0 without a plan."""
    right_share: float | None = None
    """Share of right votes in the latest closed round; None before, and for predictions."""
    suggestion: Suggestion | None = None
    answer: str = ""
    """Right answer to the current poll, with the numbers of its round; empty for a prediction."""
    remarks: tuple[str, ...] = ()
    """Messages for the speaker, a line each."""
