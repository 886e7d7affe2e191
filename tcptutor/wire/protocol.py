"""Protocol of the agent: requests and events, a JSON object per line, distinguished by the key "type".

All backends use it. Requests are typed and never contain a command line. VERSION changes when a message changes its
meaning; a peer that receives a different version reports it and ignores the message.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from tcptutor.base import decoding
from tcptutor.base.errors import ProtocolError
from tcptutor.run import (
    AckSample,
    Ended,
    Environment,
    Finished,
    QueueSample,
    Retransmission,
    Sample,
    SenderSample,
    UdpSample,
)
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import SessionState

VERSION = 6
"""Version in Hello, RunExperiment, OpenSession and Ready; all other messages follow these."""
PORT_NAME = "tcptutor"


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """Request for the agent's version and environment. Answered by Ready."""

    version: int = VERSION


class RunExperiment(msgspec.Struct, frozen=True, tag="run"):
    """Request to run an experiment. Answered by Phase, RawSamples and finally Ended or Failed."""

    experiment: Experiment
    sample_hz: float = 100.0
    """Samples of each flow per second of the lab's clock."""
    version: int = VERSION


class Stop(msgspec.Struct, frozen=True, tag="stop"):
    """Request to end the running experiment now. Answered by Ended with `complete` false."""


class Quit(msgspec.Struct, frozen=True, tag="quit"):
    """Request to take the network down and exit."""


class OpenSession(msgspec.Struct, frozen=True, tag="session"):
    """Request to set up path and hosts for manual experiments; sends no traffic.

    Answered by SessionState, then RunDetected, RawSamples and Ended for each run that the agent detects, and
    SessionEnded after Stop.
    """

    experiment: Experiment
    sample_hz: float = 100.0
    home: str = ""
    """Home folder on the lab hosts; empty for the guest's own, which HomeFile messages copy into the lab and back."""
    trap: str = ""
    """Fault to set up in advance, a key of `agent.traps.TRAPS`; empty for none."""
    version: int = VERSION


class HomeFile(msgspec.Struct, frozen=True, tag="home-file"):
    """Piece of a file in the home folder, sent to the lab before terminals open and back at the end."""

    path: str
    """Path relative to the home folder."""
    data: bytes
    executable: bool = False
    append: bool = False
    """Whether the piece continues the file's previous piece."""


class HomeFiles(msgspec.Struct, frozen=True, tag="home-files"):
    """Names of the files sent back, and of the files omitted as too large or too many."""

    names: tuple[str, ...]
    omitted: tuple[str, ...] = ()


class OpenTerminal(msgspec.Struct, frozen=True, tag="open-terminal"):
    """Request for a shell on `host` (h1 ... h8, s1, s2) with the number `terminal`, within a session."""

    terminal: int
    host: str
    rows: int = 24
    columns: int = 80
    command: str = ""
    """Command to run instead of an interactive shell. Its output arrives unchanged, byte by byte."""


class TerminalInput(msgspec.Struct, frozen=True, tag="terminal-input"):
    """Bytes typed into a terminal."""

    terminal: int
    data: bytes


class ResizeTerminal(msgspec.Struct, frozen=True, tag="resize-terminal"):
    """New size of a terminal."""

    terminal: int
    rows: int
    columns: int


class CloseTerminal(msgspec.Struct, frozen=True, tag="close-terminal"):
    """Request to hang up a terminal."""

    terminal: int


Request: TypeAlias = (
    Hello
    | RunExperiment
    | Stop
    | Quit
    | OpenSession
    | HomeFile
    | OpenTerminal
    | TerminalInput
    | ResizeTerminal
    | CloseTerminal
)


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """Event that the agent is ready for requests."""

    version: int
    environment: Environment


class Phase(msgspec.Struct, frozen=True, tag="phase"):
    """Phase of a run: "network", "check", "traffic" or "collect"; `text` describes it to the user."""

    name: str
    text: str


class Samples(msgspec.Struct, frozen=True, tag="samples"):
    """Batch of samples in order of time, about a fifth of a second of the lab's clock."""

    t: float
    """Lab time since the traffic began, s; advances even before the first flow."""
    rows: tuple[Sample, ...]
    queue: tuple[QueueSample, ...] = ()
    """Bottleneck queue at the same instants."""
    acks: tuple[AckSample, ...] = ()
    """Records of the tcp_probe tracepoint, if the run asked for `acks`."""
    senders: tuple[SenderSample, ...] = ()
    udp: tuple[UdpSample, ...] = ()
    retransmissions: tuple[Retransmission, ...] = ()
    """Retransmissions that the tracepoint recorded, if the run asked for `acks`."""
    queue_second: tuple[QueueSample, ...] = ()
    """Queue of a second bottleneck at the same instants."""


class RawSamples(msgspec.Struct, frozen=True, tag="raw-samples"):
    """Samples as the agent takes them; `backends.events` decodes them into Samples with the same fields."""

    t: float
    rows: bytes
    queue: tuple[QueueSample, ...] = ()
    acks: tuple[AckSample, ...] = ()
    senders: tuple[SenderSample, ...] = ()
    udp: tuple[UdpSample, ...] = ()
    retransmissions: tuple[Retransmission, ...] = ()
    queue_second: tuple[QueueSample, ...] = ()


class CapturedPackets(msgspec.Struct, frozen=True, tag="captured-packets"):
    """Packets of an interface in capture order; sent before Finished."""

    interface: str
    began: int
    """Start of the traffic by the clock of the packets' timestamps, ns."""
    data: bytes
    """Block of the kernel's ring, to be decoded by `run.frames.packets`."""


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """Failure of a run or request, as a line with advice. The agent remains usable."""

    reason: str
    kind: str = "lab"
    """Category: lab, kernel (missing feature), usage, or protocol."""


class TerminalOutput(msgspec.Struct, frozen=True, tag="terminal-output"):
    """Output of a terminal; empty when its shell has exited."""

    terminal: int
    data: bytes


class CommandEnded(msgspec.Struct, frozen=True, tag="command-ended"):
    """Line typed at the prompt of a lab host's shell that has completed or been refused.

    The shell itself reports it, so it is a hint and not evidence. In a flood of commands some are not reported.
    """

    terminal: int
    host: str
    """Host that ran it: `h2` typed in a terminal of h1 opens a shell on h2."""
    command: str
    """Line as typed, truncated if very long."""
    status: int


class RunDetected(msgspec.Struct, frozen=True, tag="run-detected"):
    """Start of a run of manually started flows, with its experiment from the kernel's state."""

    experiment: Experiment


class SessionEnded(msgspec.Struct, frozen=True, tag="session-ended"):
    """End of a session; no more events follow."""


Event: TypeAlias = (
    Ready
    | Phase
    | RawSamples
    | Samples
    | CapturedPackets
    | Ended
    | Finished
    | Failed
    | TerminalOutput
    | SessionState
    | CommandEnded
    | RunDetected
    | HomeFile
    | HomeFiles
    | SessionEnded
)

_encoder = msgspec.json.Encoder()
_request_decoder: msgspec.json.Decoder[Request] = decoding.json_decoder(Request)
event_decoder: msgspec.json.Decoder[Event] = decoding.json_decoder(Event)
"""Decoder for recorded events of any version; use `event` for events of a running agent."""


class _Opening(msgspec.Struct):
    """Fields that opening messages have in every version of the protocol."""

    type: str
    version: int = 0


_opening_decoder = decoding.json_decoder(_Opening)


def line(message: Request | Event) -> bytes:
    """Encode `message` as a line, newline included."""
    return _encoder.encode(message) + b"\n"


def request(line: bytes) -> Request:
    """Decode a client's request. Raises ProtocolError for a different protocol version or an invalid request."""
    try:
        opening = _opening_decoder.decode(line)
        if opening.type in ("hello", "run", "session"):
            _check(opening.version, "this tcptutor", "the lab's agent")
        return _request_decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise ProtocolError(f"not a request of protocol {VERSION}: {error}") from error


def event(line: bytes) -> Event:
    """Decode an agent's event. Raises ProtocolError for a different version, MsgspecError for an incomplete line."""
    if line.startswith(b'{"type":"ready"'):
        _check(_opening_decoder.decode(line).version, "the lab's agent", "this tcptutor")
    return event_decoder.decode(line)


def _check(version: int, theirs: str, ours: str) -> None:
    if version != VERSION:
        raise ProtocolError(
            f"{theirs} speaks version {version or 'unknown'} of the lab's protocol and {ours} version {VERSION}:"
            " run sh tcptutor/start in its repository, then `tcptutor setup --again`"
        )
