"""You are the sender: the kernel's response at an instant of the run decides which choice is right.

[[question]]
id = "first-loss"
kind = "sender"
event = "loss"                       # the first retransmission of a recovery; or timeout, probe, duplicate, ack
after = "0.3 s"                      # optional: the first such event after this time of the run
prompt = "A third duplicate ACK has arrived. What do you do?"

[[question.choice]]                  # three or four
text = "Send the missing segment again, and cut cwnd"
feedback = "Three duplicate ACKs are a loss, and a loss is a sign of congestion."
does = "resend"                      # resend, new data, nothing
cwnd = "cut"                         # grows, same, cut, one

The page's run needs `acks = "on"`. The pipe is drawn at the instant just before the event.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UsageError
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.choice import Alternative
from tcptutor.course.activities.run_question import Outcome, RunQuestion
from tcptutor.course.activity import MarkContext, Problem
from tcptutor.run import Run
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from tcptutor.analysis import SenderResponse


class SenderMove(Alternative, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Choice that is right if the kernel did the same."""

    does: Literal["resend", "new data", "nothing"]
    """Segment that the sender transmits."""
    cwnd: Literal["grows", "same", "cut", "one"]
    """Change of cwnd."""


class SenderQuestion(RunQuestion, frozen=True, kw_only=True, tag_field="kind", tag="sender"):
    """Question about the sender's next action."""

    event: Literal["loss", "timeout", "probe", "duplicate", "ack"]
    """Event of the run's first flow that the sender responds to."""
    after: str = "0 s"
    """Time of the run before which events don't count."""
    choices: tuple[SenderMove, ...] = msgspec.field(default=(), name="choice")

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if experiment is not None and not experiment.flows.acks:
            yield "kind", 'needs a run with acks = "on"'
        moves = [(choice.does, choice.cwnd) for choice in self.choices]
        if len(set(moves)) < len(moves):
            yield "choice", "two choices have the same `does` and `cwnd`: the run cannot tell them apart"
        try:
            units.parse(self.after, "time")
        except UsageError as error:
            yield "after", str(error)

    def response(self, run: Run) -> SenderResponse | None:
        """Return the kernel's response in `run`; None if the event does not occur."""
        from tcptutor.analysis import sender_response  # noqa: PLC0415  # the first frame needs no analysis

        return sender_response(run, self.event, units.parse(self.after, "time"))

    def outcome(self, context: MarkContext) -> Outcome:
        if context.run is None:
            raise UsageError(f"this question needs a complete run: press {key_name('lesson.run')} to run it")
        response = self.response(context.run)
        if response is None:
            return Outcome((), "Your run has no such event in its first flow.")
        done = response.does, response.cwnd
        holding = (at for at, choice in enumerate(self.choices) if (choice.does, choice.cwnd) == done)
        evidence = f"The kernel in your run, at {units.seconds(response.event.t)}: {response.reason}"
        return Outcome(tuple(holding), evidence)


TABLES = (SenderQuestion,)
