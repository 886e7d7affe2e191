"""What came out of one run: environment, samples, flow results and fidelity, kept in one file.

A run file (`.tcprun`) is gzip-compressed JSON with a format version, self-contained: it can be read, plotted and
marked again without the lab. Times are seconds of the lab's clock since the traffic began.
"""

from __future__ import annotations

import gzip
import os
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from tcptutor.errors import TutorError
from tcptutor.spec import Experiment

FORMAT_VERSION = 1
SSTHRESH_INFINITE = 0x7FFFFFFF
"""What the kernel reports as ssthresh before the first loss."""

CA_STATES = ("open", "disorder", "cwr", "recovery", "loss")
"""Names of `Sample.ca_state`, the kernel's congestion-avoidance states."""

Status = Literal["valid", "suspect", "invalid"]


class Sample(msgspec.Struct, frozen=True, array_like=True):
    """One flow's TCP state at one instant, as the sender's kernel reports it (struct tcp_info)."""

    flow: int
    t: float
    cwnd: int
    """Congestion window, segments."""
    ssthresh: int
    """Slow-start threshold, segments; SSTHRESH_INFINITE before the first loss."""
    mss: int
    """Payload bytes of a full segment."""
    rtt: float
    """Smoothed round-trip time, s."""
    rttvar: float
    min_rtt: float
    """s; the kernel's 4295 before the first measurement."""
    bytes_acked: int
    """Payload acknowledged since the flow began, bytes."""
    segs_out: int
    """Data segments sent since the flow began, retransmissions included."""
    retransmits: int
    """Segments retransmitted since the flow began."""
    delivery_rate: float
    """The kernel's latest estimate, bit/s."""
    pacing_rate: float
    """bit/s."""
    snd_wnd: int
    """The receiver's advertised window, bytes; 0 where the kernel does not tell (before 6.2)."""
    ca_state: int
    app_limited: bool
    busy: float
    """Time with data to send since the flow began, s; the two below are parts of it."""
    rwnd_limited: float
    sndbuf_limited: float
    reord_seen: int
    dsack_dups: int
    rto: float
    """Retransmission timeout, s."""


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run took place."""

    backend: str
    """host, guest or replay."""
    clock: str
    """virtual: time counted in the guest's instructions; real: the wall's."""
    kernel: str
    algorithms: tuple[str, ...] = ()
    qdiscs: tuple[str, ...] = ()
    hz: int = 0
    """The kernel's timer frequency as it reports it to programs; 0 unknown."""
    versions: dict[str, str] = {}
    reason: str = ""
    """Why this backend and clock were chosen, for the screen."""


class FlowResult(msgspec.Struct, frozen=True, kw_only=True):
    """One flow over the measured time (the warm-up left out)."""

    flow: int
    pair: int
    throughput_bps: float
    """Payload acknowledged, bit/s."""
    retransmits: int
    losses: int
    """Loss events: the sender's entries into recovery, loss or CWR."""
    segments: int
    """Data segments sent."""
    mean_rtt_s: float
    mean_cwnd_segments: float
    mss: int
    receiver_bps: float | None = None
    """iperf3's own figure at the receiver, bit/s, for comparison."""


class Fidelity(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the lab believes its own result."""

    status: Status = "valid"
    reasons: tuple[str, ...] = ()
    """One sentence for each thing that makes it suspect or invalid."""
    checks: dict[str, float | int | str | bool] = {}
    """What was read back and measured, by name."""


class Series:
    """One flow's samples as columns, each an array of numbers, all of one length. Grows by `append`."""

    def __init__(self) -> None:
        self.columns: dict[str, array[float]] = {name: array("d") for name in COLUMNS}

    def __len__(self) -> int:
        return len(self.columns["t"])

    def __getitem__(self, column: str) -> array[float]:
        return self.columns[column]

    def append(self, sample: Sample) -> None:
        for name, column in self.columns.items():
            column.append(getattr(sample, name))


COLUMNS: tuple[str, ...] = tuple(field for field in Sample.__struct_fields__ if field != "flow")


class Run(msgspec.Struct, kw_only=True):
    """One run of one experiment, whole or cut short. The one mutable thing here: it grows as samples arrive."""

    id: str
    experiment: Experiment
    environment: Environment
    started: str
    """Wall-clock time of the start, ISO 8601 with zone."""
    flows: list[FlowResult] = []
    fidelity: Fidelity = Fidelity()
    samples: list[Sample] = []
    complete: bool = False
    """False while it runs and for one that was cut short."""
    note: str = ""
    """Why it was cut short, or "replay"."""
    wall_s: float = 0.0
    experiment_s: float = 0.0
    format_version: int = FORMAT_VERSION

    def series(self) -> dict[int, Series]:
        """The samples by flow, as columns."""
        return series_of(self.samples)


def series_of(samples: Iterable[Sample]) -> dict[int, Series]:
    """Samples in order of time, by flow, as columns."""
    flows: dict[int, Series] = {}
    for sample in samples:
        if sample.flow not in flows:
            flows[sample.flow] = Series()
        flows[sample.flow].append(sample)
    return flows


def save(run: Run, path: Path) -> None:
    """Write `run` to `path`, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(gzip.compress(msgspec.json.encode(run), compresslevel=6, mtime=0))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise TutorError(
            f"cannot write {path}: {error.strerror}: free some space or give another place"
        ) from error


def load(path: Path) -> Run:
    """The run in `path`. Raises TutorError for a file that is missing, damaged or of a newer format."""
    try:
        data = gzip.decompress(path.read_bytes())
        version = msgspec.json.decode(data, type=_Header).format_version
        if version > FORMAT_VERSION:
            raise TutorError(
                f"{path} was written by a newer tcptutor (format {version}): update tcptutor to read it"
            )
        return msgspec.json.decode(data, type=Run)
    except FileNotFoundError:
        raise TutorError(f"no run file {path}: `tcptutor list` names the experiments you can run") from None
    except (OSError, EOFError, msgspec.MsgspecError, ValueError) as error:
        raise TutorError(
            f"{path} is not a run file, or damaged ({error}): run the experiment again"
        ) from error


class _Header(msgspec.Struct):
    format_version: int
