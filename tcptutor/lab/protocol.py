"""The agent's protocol: requests in, events out, one JSON object a line, told apart by their key "type".

The same under every backend. Typed requests only, never a command line. Version it when a message changes its meaning.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tcptutor.run import AckSample, Environment, Fidelity, FlowResult, QueueSample, Sample, UdpResult
from tcptutor.spec import Experiment

VERSION = 2
PORT_NAME = "tcptutor"
"""The guest's virtio port that carries it."""


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """Who is there? Answered by Ready."""

    version: int = VERSION


class RunExperiment(msgspec.Struct, frozen=True, tag="run"):
    """Run it; answered by Phase, Samples, ... and one Finished or Failed."""

    experiment: Experiment
    sample_hz: float = 100.0
    """Samples of each flow in a second of the lab's clock."""


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """End the running experiment now; it is answered by Finished with `complete` false."""


class Quit(msgspec.Struct, frozen=True, tag="quit"):
    """Take everything down and end."""


class OpenSession(msgspec.Struct, frozen=True, tag="session"):
    """Set path and hosts up as `experiment` says, send nothing, and leave the rest to somebody's hands.

    Answered by Seen; then come Found, Samples ... Finished for each run that is found, and SessionEnded after Stop.
    """

    experiment: Experiment
    sample_hz: float = 100.0


class OpenTerminal(msgspec.Struct, frozen=True, tag="open-terminal"):
    """A shell on `host` (h1 ... h8, s1, s2), called `terminal` from now on; within a session."""

    terminal: int
    host: str
    rows: int = 24
    columns: int = 80


class Typed(msgspec.Struct, frozen=True, tag="typed"):
    """Bytes for a terminal's input."""

    terminal: int
    data: bytes


class Resized(msgspec.Struct, frozen=True, tag="resized"):
    """A terminal has another size now."""

    terminal: int
    rows: int
    columns: int


class CloseTerminal(msgspec.Struct, frozen=True, tag="close-terminal"):
    """Hang up."""

    terminal: int


Request: TypeAlias = (
    Hello | RunExperiment | Stop | Quit | OpenSession | OpenTerminal | Typed | Resized | CloseTerminal
)


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The agent is there."""

    version: int
    environment: Environment


class Phase(msgspec.Struct, frozen=True, tag="phase"):
    """What the lab is doing now: "network", "check", "traffic", "collect"; `text` says it to the user."""

    name: str
    text: str


class Samples(msgspec.Struct, frozen=True, tag="samples"):
    """Samples in order of time; a batch covers about a fifth of a second of the lab's clock."""

    t: float
    """Lab time since the traffic began, s, even when there is no flow yet."""
    rows: tuple[Sample, ...]
    queue: tuple[QueueSample, ...] = ()
    """The bottleneck at the same instants."""
    acks: tuple[AckSample, ...] = ()
    """What the tracepoint gave meanwhile, for a run that asked for it."""


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The run has ended."""

    flows: tuple[FlowResult, ...]
    fidelity: Fidelity
    seconds: float
    """Lab time of the traffic."""
    complete: bool = True
    udp: tuple[UdpResult, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The run or the request failed; one line that says what to do. The agent stays usable."""

    reason: str
    kind: str = "lab"
    """lab, kernel (a feature is missing), usage, or protocol."""


class Wrote(msgspec.Struct, frozen=True, tag="wrote"):
    """Bytes from a terminal; empty when its shell has ended."""

    terminal: int
    data: bytes


class Seen(msgspec.Struct, frozen=True, tag="seen"):
    """The lab as the kernel holds it now, changes made by hand included; in a run's `path.changes`, those during it."""

    experiment: Experiment


class Found(msgspec.Struct, frozen=True, tag="found"):
    """Flows that somebody started: a run begins, of what the kernel holds. Samples and Finished follow."""

    experiment: Experiment


class SessionEnded(msgspec.Struct, frozen=True, tag="session-ended"):
    """Nothing comes any more."""


Event: TypeAlias = Ready | Phase | Samples | Finished | Failed | Wrote | Seen | Found | SessionEnded

_encoder = msgspec.json.Encoder()
request_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def line(message: Request | Event) -> bytes:
    """`message` as one line, newline included."""
    return _encoder.encode(message) + b"\n"
