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


Request: TypeAlias = Hello | RunExperiment | Stop | Quit


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


Event: TypeAlias = Ready | Phase | Samples | Finished | Failed

_encoder = msgspec.json.Encoder()
request_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def line(message: Request | Event) -> bytes:
    """`message` as one line, newline included."""
    return _encoder.encode(message) + b"\n"
