"""Laws of senders and queues over time: simulated packets, early signals, a token bucket."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from tcptutor.base.errors import UsageError, unknown
from tcptutor.figures.curve.law import MSS, REQUIRED, TIME, Law, Traced, Values
from tcptutor.theory.limits import INITIAL_WINDOW
from tcptutor.theory.packet_link import PacketPath
from tcptutor.theory.packet_sender import PACINGS, PacketFlow
from tcptutor.theory.packet_simulation import simulate
from tcptutor.theory.queue_signals import SignalledFlow, signalled_flow, token_bucket

_FRAME = 1514.0


def _packets(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace a Reno flow, packet by packet; a cut of its window is an event."""
    if values["pacing"] not in PACINGS:
        raise UsageError(unknown("pacing", values["pacing"], PACINGS))
    path = PacketPath(delay=values["rtt"] / 2, rate=values["rate"], queue=values["queue"] // values["frame"])
    flow = PacketFlow(size=values["frame"], pacing=PACINGS[values["pacing"]])
    trace = simulate(path, [flow], places[-1])
    sender = trace.senders[0]
    cuts = tuple(
        t for (_, before), (t, after) in pairwise(zip(sender.t, sender.cwnd, strict=True)) if after < before
    )
    columns: dict[str, tuple[Sequence[float], Sequence[float]]] = {
        "cwnd": (sender.t, sender.cwnd),
        "in flight": (sender.t, sender.in_flight),
        "waiting": (trace.queue_t, trace.queue),
    }
    return Traced(_points(*columns[result], places[-1]), tuple(t for t in cuts if t < places[-1]))


def _points(t: Sequence[float], y: Sequence[float], end: float) -> tuple[tuple[float, float], ...]:
    """Return a column of step values, thinned to the figure's resolution, with its steps down."""
    gap = end / 600
    points: list[tuple[float, float]] = []
    for (at, value), (_, after) in pairwise([*zip(t, y, strict=True), (end, y[-1])]):
        if after < value - 1:
            points += [(at, value), (at, after)]
        elif not points or at - points[-1][0] >= gap:
            points.append((at, value))
    return (*points, (end, float(y[-1])))


def _cut(_: str, __: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace a window that a loss at an instant lowers, at once or in proportion to ACKs over a round trip."""
    window, at = values["window"], values["at"]
    kept = values["kept"] * window
    end = at + values["over"]
    glide = [(t, window + (kept - window) * (t - at) / (end - at)) for t in places if at < t < end]
    return Traced(((places[0], window), (at, window), *glide, (end, kept), (places[-1], kept)), (at,))


def _signals(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace a flow behind a queue that signals early."""
    keys = ("rate", "rtt", "signal", "target", "sender", "start", "initial", "burst", "burst_at")
    trace = signalled_flow(SignalledFlow(**{key: values[key] for key in keys}), places[-1])
    column = {"wait": 2, "cwnd": 1}[result]
    points = [(point.t, point[column]) for point in trace.points if point.t >= values["start"] or column == 2]
    return Traced(_thinned(points, places[-1]), trace.signals)


def _thinned(points: Sequence[tuple[float, float]], end: float) -> tuple[tuple[float, float], ...]:
    gap = end / 600
    kept: list[tuple[float, float]] = []
    for (at, value), (_, after) in pairwise([*points, points[-1]]):
        if not kept or at - kept[-1][0] >= gap or abs(after - value) > 1:
            kept.append((at, value))
    return tuple(kept)


def _bucket(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace a token bucket around a pause of its sender."""
    pause = (values["pause_from"], values["pause_to"])
    points = token_bucket(values["rate"], values["bucket"], values["offered"], pause, places[-1])
    if result == "tokens":
        return Traced(tuple((point.t, point.tokens) for point in points), pause)
    return Traced(tuple((point.t, point.passed) for point in points), pause)


def _autotuned(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace the window of a receive buffer that grows, and slow start below it.

    Once per round trip the receiver makes room for twice the bytes read in it (net/ipv4/tcp_input.c,
    tcp_rcv_space_adjust), up to the largest buffer.
    """
    rtt, end, largest = values["rtt"], places[-1], values["usable"] * values["largest"]
    cwnd, window = values["initial"] * values["mss"], values["usable"] * values["first"]
    points, events = [], []
    for number in range(math.ceil(end / rtt)):
        flight = min(cwnd, window)
        height = window if result == "window" else flight
        points += [(number * rtt, height), (min((number + 1) * rtt, end), height)]
        room = min(largest, max(window, 2 * flight))
        if room > window and (number + 1) * rtt < end:
            events.append((number + 1) * rtt)
        cwnd, window = 2 * flight, room
    return Traced(tuple(points), tuple(events))


def _asked(_: str, __: str, values: Values, places: Sequence[float]) -> Traced:
    return Traced(tuple((place, values["streams"] * place) for place in places))


_PATH: dict[str, tuple[str, Any]] = {"rate": ("rate", REQUIRED), "rtt": ("time", REQUIRED)}

PACKET_LAWS: dict[str, Law] = {
    "packets": Law(
        {TIME: "time"},
        {"cwnd": "segments", "in flight": "segments", "waiting": "segments"},
        {**_PATH, "queue": ("queue", math.inf), "pacing": ("name", "off"), "frame": ("size", _FRAME)},
        _packets,
    ),
    "cut": Law(
        {TIME: "time"},
        {"cwnd": "segments"},
        {
            "window": ("number", REQUIRED),
            "kept": ("ratio", REQUIRED),
            "at": ("time", REQUIRED),
            "over": ("time", 0.0),
        },
        _cut,
    ),
    "signals": Law(
        {TIME: "time"},
        {"wait": "time", "cwnd": "segments"},
        {
            **_PATH,
            "signal": ("name", "codel"),
            "target": ("time", 0.005),
            "sender": ("name", "cubic"),
            "start": ("time", 0.0),
            "initial": ("number", 10),
            "burst": ("number", 0),
            "burst_at": ("time", 0.0),
        },
        _signals,
    ),
    "token-bucket": Law(
        {TIME: "time"},
        {"tokens": "size", "throughput": "rate"},
        {
            "rate": ("rate", REQUIRED),
            "bucket": ("size", REQUIRED),
            "offered": ("rate", REQUIRED),
            "pause_from": ("time", REQUIRED),
            "pause_to": ("time", REQUIRED),
        },
        _bucket,
    ),
    "autotuned": Law(
        {TIME: "time"},
        {"window": "size", "in flight": "size"},
        {
            "rtt": ("time", REQUIRED),
            "first": ("size", REQUIRED),
            "largest": ("size", REQUIRED),
            "usable": ("ratio", REQUIRED),
            "initial": ("number", INITIAL_WINDOW),
            "mss": ("size", MSS),
        },
        _autotuned,
    ),
    "asked": Law({"pacing": "rate"}, {"asked": "rate"}, {"streams": ("count", REQUIRED)}, _asked),
}
"""Laws that only curves of lessons use, by name.

`packets` simulates, `cut` lowers a window, `signals` has CoDel or marks, `autotuned` has a buffer that grows, `asked`
sums rates.
"""
