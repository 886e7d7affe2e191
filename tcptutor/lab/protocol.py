"""The agent's protocol: requests in, events out, one JSON object a line, told apart by their key "type".

The same under every backend. Typed requests only, never a command line. Its version is another
one when a message changes its meaning; who gets a message of another version says so and does nothing.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tcptutor.errors import ProtocolError
from tcptutor.lab.kernel_state import SessionState
from tcptutor.run import (
    AckSample,
    CapturedAt,
    Environment,
    Fidelity,
    FlowResult,
    QueueSample,
    ResentSample,
    Sample,
    SenderSample,
    UdpResult,
    UdpSample,
)
from tcptutor.spec import Experiment

VERSION = 5
"""Hello, RunExperiment, OpenSession and Ready carry it; the other messages follow one of these."""
PORT_NAME = "tcptutor"
"""The guest's virtio port that carries it."""


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """Who is there? Answered by Ready."""

    version: int = VERSION


class RunExperiment(msgspec.Struct, frozen=True, tag="run"):
    """Run it; answered by Phase, TakenSamples, ... and one Ended or Failed."""

    experiment: Experiment
    sample_hz: float = 100.0
    """Samples of each flow in a second of the lab's clock."""
    version: int = VERSION


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """End the running experiment now; it is answered by Ended with `complete` false."""


class Quit(msgspec.Struct, frozen=True, tag="quit"):
    """Take everything down and end."""


class OpenSession(msgspec.Struct, frozen=True, tag="session"):
    """Set path and hosts up as `experiment` says, send nothing, and leave the rest to somebody's hands.

    Answered by SessionState; then come RunFound, TakenSamples ... Ended for each run that is found, and SessionEnded
    after Stop.
    """

    experiment: Experiment
    sample_hz: float = 100.0
    home: str = ""
    """The folder that is `~` there; empty for the lab's own."""
    carried: bool = True
    """Whether the folder's files come and go with the session: HomeFile both ways."""
    trap: str = ""
    """What is wrong with it from the beginning, by its name in `lab.traps.TRAPS`; empty for nothing."""
    version: int = VERSION


class HomeFile(msgspec.Struct, frozen=True, tag="home-file"):
    """A piece of a file in `~`: put there before terminals are opened, told before the session ends."""

    path: str
    """Relative."""
    data: bytes
    executable: bool = False
    append: bool = False
    """Whether it goes on where the last piece of this file ended."""


class HomeFiles(msgspec.Struct, frozen=True, tag="home-files"):
    """The names of all that was told of `~`, and of those that are too large or too many for that."""

    names: tuple[str, ...]
    left_out: tuple[str, ...] = ()


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
    Hello
    | RunExperiment
    | Stop
    | Quit
    | OpenSession
    | HomeFile
    | OpenTerminal
    | Typed
    | Resized
    | CloseTerminal
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
    senders: tuple[SenderSample, ...] = ()
    """The sending hosts' own queues, at some of the same instants."""
    udp: tuple[UdpSample, ...] = ()
    resent: tuple[ResentSample, ...] = ()
    """What the tracepoint gave of retransmissions meanwhile, for a run that asked for `acks`."""


class TakenSamples(msgspec.Struct, frozen=True, tag="taken"):
    """Samples as the agent takes them; `backends.reading` makes Samples of them, which have the same names."""

    t: float
    rows: bytes
    """As `lab.rows` has them."""
    queue: tuple[QueueSample, ...] = ()
    acks: tuple[AckSample, ...] = ()
    senders: tuple[SenderSample, ...] = ()
    udp: tuple[UdpSample, ...] = ()
    resent: tuple[ResentSample, ...] = ()


class Captured(msgspec.Struct, frozen=True, tag="captured"):
    """Packets of one interface, in the order in which they passed; they come before Finished."""

    interface: str
    began: int
    """When the traffic began, by the clock of the packets' times, ns."""
    data: bytes
    """A block of the kernel's ring, as `lab.frames.packets` reads it."""


class Finished(msgspec.Struct, frozen=True, tag="finished"):
    """The run has ended."""

    flows: tuple[FlowResult, ...]
    fidelity: Fidelity
    seconds: float
    """Lab time of the traffic."""
    complete: bool = True
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()


class TimerCounts(msgspec.Struct, frozen=True):
    """How well a run's samples kept to their times."""

    period: float
    """Between two samples, s."""
    longest_gap: float = 0.0
    """The longest time without a sample, s."""
    late: float = 0.0
    """The share of the timers that were late, 0 to 1."""
    missing: float = 0.0
    """The share of the samples that should have been taken until the last one and were not, 0 to 1."""
    mean_late: float = 0.0
    """The mean lateness of the timers, s."""


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    """The run has ended, and so much the lab says of it; `backends.reading` makes Finished of it and of the samples."""

    experiment: Experiment
    """With every change that has happened."""
    flows: tuple[tuple[int, int], ...]
    """The number and the pair of each TCP flow."""
    seconds: float
    """Lab time of the traffic."""
    complete: bool
    """False for one that was cut short."""
    planned: bool
    """False for one whose flows somebody started by hand: then nobody can say which of them are missing."""
    timers: TimerCounts
    checks: dict[str, float | int | str | bool] = {}
    """What was looked at, and what it was."""
    suspect: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()
    trace_lost: int | None = None
    """ACKs that the trace lost; None without one."""
    udp: tuple[UdpResult, ...] = ()
    captured: tuple[CapturedAt, ...] = ()


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The run or the request failed; one line that says what to do. The agent stays usable."""

    reason: str
    kind: str = "lab"
    """lab, kernel (a feature is missing), usage, or protocol."""


class Wrote(msgspec.Struct, frozen=True, tag="wrote"):
    """Bytes from a terminal; empty when its shell has ended."""

    terminal: int
    data: bytes


class CommandEnded(msgspec.Struct, frozen=True, tag="command"):
    """A line that was typed at the prompt of a lab host's shell has been done or refused.

    The shell itself says so: it explains, and proves nothing. Of very many at once some are not told.
    """

    terminal: int
    host: str
    """Where it was typed: `h2` in a terminal of h1 leads to h2."""
    command: str
    """The line, its beginning where it is very long."""
    status: int
    """Its exit code; 0 is success."""


class RunFound(msgspec.Struct, frozen=True, tag="found"):
    """Flows that somebody started: a run begins, of what the kernel holds. TakenSamples and Ended follow."""

    experiment: Experiment


class SessionEnded(msgspec.Struct, frozen=True, tag="session-ended"):
    """Nothing comes any more."""


Event: TypeAlias = (
    Ready
    | Phase
    | TakenSamples
    | Samples
    | Captured
    | Ended
    | Finished
    | Failed
    | Wrote
    | SessionState
    | CommandEnded
    | RunFound
    | HomeFile
    | HomeFiles
    | SessionEnded
)

_encoder = msgspec.json.Encoder()
_request_decoder: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
event_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)
"""For events that were kept, of whatever version; `event` is for those of an agent that runs."""


class _Opening(msgspec.Struct):
    """What every version of the protocol has in common, of a message that opens something."""

    type: str
    version: int = 0


_opening_decoder = msgspec.json.Decoder(_Opening)


def line(message: Request | Event) -> bytes:
    """`message` as one line, newline included."""
    return _encoder.encode(message) + b"\n"


def request(line: bytes) -> Request:
    """What a client asks for. Raises ProtocolError for another version of the protocol, and for no request of it."""
    try:
        opening = _opening_decoder.decode(line)
        if opening.type in ("hello", "run", "session"):
            _check(opening.version, "this tcptutor", "the lab's agent")
        return _request_decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"not a request of protocol {VERSION}: {error}") from error


def event(line: bytes) -> Event:
    """What an agent answers. Raises ProtocolError for another version of the protocol, MsgspecError for half a line."""
    if line.startswith(b'{"type":"ready"'):
        _check(_opening_decoder.decode(line).version, "the lab's agent", "this tcptutor")
    return event_decoder.decode(line)


def _check(version: int, theirs: str, ours: str) -> None:
    if version != VERSION:
        raise ProtocolError(
            f"{theirs} speaks version {version or 'unknown'} of the lab's protocol and {ours} version {VERSION}:"
            " run sh tcptutor/start in its repository, then `tcptutor setup --again`"
        )
