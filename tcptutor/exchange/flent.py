"""flent's data files, `.flent.gz`, formats 1 to 4.

resultset.py (github.com/tohojo/flent) writes the format: metadata, x_values, results by series, and since format 2
raw_values: each tool's reports with their time `t`. Reports of a TCP series have `val`, Mbit/s over the last `dur`
seconds, and in tests with socket statistics tcp_cwnd (segments), tcp_rtt and tcp_rtt_var (ms).
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import msgspec

from tcptutor.base import decoding
from tcptutor.base.errors import TutorError
from tcptutor.exchange import foreign
from tcptutor.run import FlowResult, Run, Sample, mean_of_known
from tcptutor.spec import Flows

NEWEST = 4
_COMPUTED = ("avg", "sum", "totals", "fairness")
"""Last words of series that flent computes from others."""
_SUFFIX = ".flent"
_ROUNDING = 5e3
"""Half of netperf's last decimal, bit/s."""
_SAME_FLOW = 0.5
"""Relative difference up to which netperf's total and reports belong to the same flow: sending lags writing."""
_NUMBERED = re.compile(r"(\D+)(\d*)")


class _Point(msgspec.Struct, frozen=True):
    """A tool's report at an instant."""

    t: float
    val: float | None = None
    dur: float | None = None
    tcp_cwnd: float | None = None
    tcp_rtt: float | None = None
    tcp_rtt_var: float | None = None
    tcp_pacing_rate: float | None = None
    tcp_delivery_rate: float | None = None


class _Series(msgspec.Struct, frozen=True, rename="upper"):
    """Metadata of a series."""

    units: str = ""
    tcp_mss: float | None = None
    tcp_retransmit: float | str | None = None
    cong_control: str | None = None
    mean_value: float | str | None = None
    bytes_recvd: float | str | None = None
    elapsed_time: float | str | None = None
    raw_values: list[_Point] = []
    """Reports in format 1."""


class _Metadata(msgspec.Struct, frozen=True, rename="upper"):
    name: str = "a test"
    title: str | None = None
    host: str | None = None
    time: str | None = None
    length: float | None = None
    step_size: float | None = None
    flent_version: str | None = None
    netperf_wrapper_version: str | None = None
    kernel_release: str | None = None
    series_meta: dict[str, _Series] = {}


class _File(msgspec.Struct, frozen=True):
    metadata: _Metadata
    x_values: list[float]
    results: dict[str, list[float | None]]
    version: int = 1
    raw_values: dict[str, list[dict[str, Any]]] = {}


@dataclass(frozen=True)
class _Flow:
    """A TCP series."""

    name: str
    points: list[_Point]
    meta: _Series

    @property
    def reverse(self) -> bool:
        return self.name.startswith("TCP download")

    @property
    def mss(self) -> int:
        return round(self.meta.tcp_mss or 0) or foreign.USUAL_MSS

    @property
    def rates(self) -> list[_Point]:
        return [point for point in self.points if point.val is not None and point.dur]

    @property
    def begin(self) -> float:
        return min(point.t - (point.dur or 0) for point in self.points)

    @property
    def seconds(self) -> float:
        """Return the time it sent; its socket statistics continue after that."""
        rates = self.rates
        return rates[-1].t - min(point.t - (point.dur or 0) for point in rates)


def is_flent(text: str) -> bool:
    """Return whether the text is, or begins, a flent data file."""
    return '"metadata"' in text and ('"x_values"' in text or '"raw_values"' in text)


def read(text: str, file: str, path: Mapping[str, str]) -> list[Run]:
    """Return the run in `text`, the content of `file`. Raises TutorError."""
    data = _file(text, file)
    metadata = data.metadata
    flows = _flows(data)
    if not flows:
        raise TutorError(
            f"{file} has no TCP flow ({metadata.name}): give a test with TCP uploads or downloads"
        )
    zero = min(_first_report(data), *(flow.begin for flow in flows))
    last = max(point.t for flow in flows for point in flow.points) - zero
    if not 0 < last < math.inf:
        raise ValueError("its times are not those of a test")
    directions = tuple("reverse" if flow.reverse else "forward" for flow in flows)
    version = metadata.flent_version or metadata.netperf_wrapper_version or ""
    algorithms = {flow.meta.cong_control for flow in flows if flow.meta.cong_control}
    run = foreign.new_run(
        f"flent {version}".strip(),
        PurePath(file).name.partition(_SUFFIX)[0],
        title=f"{metadata.name} to {metadata.host or 'a host'}"
        + (f": {metadata.title}" if metadata.title else ""),
        when=_when(metadata.time),
        kernel=metadata.kernel_release or "unknown",
        flows=Flows(
            streams=len(flows),
            duration=last,
            warmup=0.0,
            starts=tuple(flow.begin - zero for flow in flows),
            directions=directions if "reverse" in directions else (),
        ),
        algorithm=algorithms.pop() if len(algorithms) == 1 else "unknown",
        path=path,
    )
    samples = [row for number, flow in enumerate(flows) for row in _samples(number, flow, zero)]
    run.samples.extend(sorted(samples, key=lambda row: row.t))
    run.flows = [_result(number, flow) for number, flow in enumerate(flows)]
    run.complete, run.experiment_s = True, last
    if not any(row.cwnd for row in samples):
        run.note += "; it has no cwnd: flent takes it with --socket-stats"
    if unread := _unread_series(data):
        run.note += f"; {', '.join(unread)} in it is not read: only TCP is"
    return [run]


def _file(text: str, file: str) -> _File:
    try:
        raw = json.loads(text, parse_constant=lambda _: None)
        data = decoding.convert(raw, _File)
    except (ValueError, RecursionError, msgspec.ValidationError) as error:
        raise TutorError(f"{file} is a flent data file, but damaged ({error}): fetch it again") from error
    if data.version > NEWEST:
        raise TutorError(f"{file} has flent's format {data.version}, we read up to {NEWEST}: update tcptutor")
    return data


def _flows(data: _File) -> list[_Flow]:
    """Return the measured TCP series, without computed series, in natural order."""
    found = []
    for name in sorted(data.results, key=_natural):
        words = name.split()
        if words[:1] != ["TCP"] or name.count("::tcp_") or words[-1] in _COMPUTED:
            continue
        meta = data.metadata.series_meta.get(name, _Series())
        points = sorted(_points(data, name, meta), key=lambda point: point.t)
        if any(point.val is not None and point.dur for point in points):
            found.append(_Flow(name, points, meta))
    return found


def _unread_series(data: _File) -> list[str]:
    """Return the names of other series that sent data: VoIP, HTTP, and any measured rate."""
    names = {name.partition("::")[0] for name in data.results}
    rates = {name for name, meta in data.metadata.series_meta.items() if meta.units.startswith("Mbit")}
    sent = (name for name in names if name.startswith(("VoIP", "HTTP")) or name in rates)
    return sorted(name for name in sent if not name.startswith("TCP"))


def _natural(name: str) -> list[tuple[str, int]]:
    return [(text, int(number or 0)) for text, number in _NUMBERED.findall(name)]


def _points(data: _File, name: str, meta: _Series) -> Iterable[_Point]:
    """Return the reports of a series, or its interpolated values where the file has no reports."""
    raw = data.raw_values.get(name) or meta.raw_values
    if raw:
        return [point for point in decoding.convert(raw, list[_Point]) if math.isfinite(point.t)]
    step = data.metadata.step_size or 0.2
    pairs = zip(data.x_values, data.results[name], strict=False)
    return [_Point(t=x + step, val=value, dur=step) for x, value in pairs if value is not None]


def _first_report(data: _File) -> float:
    """Return the time of the first report of any tool: pings begin before the flows. Infinite without raw values."""
    times = (point.get("t") for series in data.raw_values.values() for point in series)
    return min((t for t in times if isinstance(t, float | int)), default=math.inf)


class _Bytes:
    """Cumulative payload of a flow: `val` holds for the `dur` before each report."""

    def __init__(self, rates: Sequence[_Point]) -> None:
        self._times, self._totals = [rates[0].t - (rates[0].dur or 0)], [0.0]
        for point in rates:
            # A late report has a longer `dur`; never count a moment twice.
            since = max(self._times[-1], point.t - (point.dur or 0))
            if point.t > since:
                self._add(since, 0.0)
                self._add(point.t, (point.val or 0) * 1e6 / 8 * (point.t - since))

    def _add(self, t: float, more: float) -> None:
        if t > self._times[-1]:
            self._times.append(t)
            self._totals.append(self._totals[-1] + more)

    def at(self, t: float) -> float:
        """Return the bytes until `t`, interpolated linearly between reports."""
        after = bisect_right(self._times, t)
        if after in (0, len(self._times)):
            return self._totals[0 if after == 0 else -1]
        start, end = self._times[after - 1], self._times[after]
        share = (t - start) / (end - start)
        return self._totals[after - 1] + share * (self._totals[after] - self._totals[after - 1])


def _samples(number: int, flow: _Flow, zero: float) -> list[Sample]:
    """Return a sample at the start, and a sample per report; unreported values keep their last value."""
    acked = _Bytes(flow.rates)
    state = _Point(t=flow.begin, tcp_cwnd=_earliest(flow, "tcp_cwnd"), tcp_rtt=_earliest(flow, "tcp_rtt"))
    samples = []
    for point in (state, *flow.points):
        known = {name: getattr(point, name) for name in point.__struct_fields__}
        state = msgspec.structs.replace(
            state, **{name: value for name, value in known.items() if value is not None}
        )
        samples.append(
            foreign.sample(
                number, point.t - zero, acked=acked.at(point.t), mss=flow.mss, cwnd=state.tcp_cwnd or 0,
                rtt=(state.tcp_rtt or 0) / 1e3, rttvar=(state.tcp_rtt_var or 0) / 1e3,
                pacing_rate=(state.tcp_pacing_rate or 0) * 1e6,
                delivery_rate=(state.tcp_delivery_rate or 0) * 1e6,
            )
        )  # fmt: skip
    return samples


def _earliest(flow: _Flow, name: str) -> float | None:
    values = (getattr(point, name) for point in flow.points)
    return next((value for value in values if value is not None), None)


def _result(number: int, flow: _Flow) -> FlowResult:
    """Return the flow's result, with netperf's own total if known, otherwise the mean rate while it sent.

    netperf counts downloads at the receiver, uploads at the sender; newer versions also report the receiver's count.
    """
    bits = math.fsum((point.val or 0) * 1e6 * (point.dur or 0) for point in flow.rates)
    own = bits / flow.seconds if flow.seconds > 0 else 0.0
    receiver_rate = _receiver_rate(flow.meta, own)
    throughput = receiver_rate or _netperf_total(flow.meta, own)
    # The count of a download would be of this end, which sends nothing.
    retransmitted = None if flow.reverse else _count(flow.meta.tcp_retransmit)
    rtt = mean_of_known(point.tcp_rtt for point in flow.points if point.tcp_rtt)
    return FlowResult(
        flow=number,
        pair=0,
        throughput_bps=throughput,
        retransmits=retransmitted,
        losses=None,
        segments=None if retransmitted is None else round(bits / 8 / flow.mss) + retransmitted,
        mean_rtt_s=None if rtt is None else rtt / 1e3,
        mean_cwnd_segments=mean_of_known(point.tcp_cwnd for point in flow.points if point.tcp_cwnd),
        mss=flow.mss,
        algorithm=flow.meta.cong_control or "",
        receiver_bps=receiver_rate or (throughput if flow.reverse else None),
    )


def _receiver_rate(meta: _Series, own: float) -> float | None:
    """Return the receiver's rate, bit/s; None if it is missing, or belongs to a different flow."""
    received, seconds = _number(meta.bytes_recvd), _number(meta.elapsed_time)
    if not received or not seconds or seconds < 0:
        return None
    receiver_rate = 8 * received / seconds
    return receiver_rate if abs(receiver_rate - own) <= _SAME_FLOW * own else None


def _netperf_total(meta: _Series, own: float) -> float:
    """Return netperf's total, bit/s, unless it is the rounded mean `own`, or of a different flow."""
    mean = _number(meta.mean_value)
    if mean is None or not meta.units.startswith("Mbit"):
        return own
    difference = abs(1e6 * mean - own)
    return 1e6 * mean if _ROUNDING < difference <= _SAME_FLOW * own else own


def _number(value: float | str | None) -> float | None:
    try:
        number = float("nan" if value is None else value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _count(text: float | str | None) -> int | None:
    try:
        number = int(float("nan" if text is None else text))
    except (ValueError, OverflowError):
        return None
    return number if number >= 0 else None


def _when(text: str | None) -> datetime:
    """Parse flent's ISO 8601 time, which has a zone since format 3."""
    try:
        when = datetime.fromisoformat(text or "")
    except ValueError:
        return foreign.moment(0)
    return when if when.tzinfo else when.replace(tzinfo=UTC)
