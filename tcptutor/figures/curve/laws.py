"""Laws that a curve can show: every model of `theory.catalogue`, and trajectories and limits composed from the theory.

A name is that of the model with hyphens: `mathis`, `window-limited`, `cubic-curve`. `LAWS` has the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from tcptutor import theory
from tcptutor.base.errors import ParameterError, UsageError, unknown
from tcptutor.figures.curve.law import MSS, REQUIRED, ROUND_TRIPS, TIME, Law, Traced, Values, goodput
from tcptutor.figures.curve.packet_laws import PACKET_LAWS
from tcptutor.spec.frame_sizes import ETHERNET_HEADER, HEADERS, TIMESTAMP_OPTION
from tcptutor.theory.catalogue import MODELS


def law_names() -> tuple[str, ...]:
    """Return the names of all laws, sorted."""
    return tuple(sorted({*LAWS, *map(_hyphens, filter(_is_curve, MODELS))}))


def law(name: str) -> Law:
    """Return the law of that name.

    Raises:
        UsageError: The name is unknown.
    """
    if name in LAWS:
        return LAWS[name]
    model = MODELS.get(name.replace("-", "_"))
    if model is None or not _is_curve(name):
        ours = ", ".join(sorted(LAWS))
        every = f"there are {ours}, and models of `tcptutor model` with hyphens in their names, such as window-limited"
        raise UsageError(unknown("law", name, law_names(), every))
    parameters = {TIME if each.name == "elapsed" else each.name: each for each in model.parameters}
    kinds = {each: parameter.quantity.kind for each, parameter in parameters.items()}
    return Law(
        over={each: kind for each, kind in kinds.items() if kind in _SCALARS},
        gives={_RESULTS.get(model.unit, model.unit): _KINDS.get(model.unit, model.unit)},
        parameters={
            each: (kinds[each], REQUIRED if parameter.required else parameter.default)
            for each, parameter in parameters.items()
        },
        trace=_model_trace(model.function),
    )


_SCALARS = frozenset({"rate", "time", "size", "ratio", "number", "count"})
_KINDS = {"share": "ratio", "segments/RTT": "number"}
_RESULTS = {"rate": "throughput", "segments": "cwnd", "segments/RTT": "growth"}


def _hyphens(name: str) -> str:
    return name.replace("_", "-")


def _is_curve(name: str) -> bool:
    model = MODELS.get(name.replace("-", "_"))
    return model is not None and all(each.quantity.kind in {*_SCALARS, "switch"} for each in model.parameters)


def _model_trace(function: Callable[..., float]) -> Callable[[str, str, Values, Sequence[float]], Traced]:
    def trace(over: str, _: str, values: Values, places: Sequence[float]) -> Traced:
        arguments = {"elapsed" if name == TIME else name: value for name, value in values.items()}
        name = "elapsed" if over == TIME else over
        points, reason = [], None
        for place in places:
            try:
                points.append((place, function(**{**arguments, name: place})))
            except ParameterError as error:
                reason = error
        if len(points) < 2 and reason is not None:
            raise UsageError(str(reason))
        return Traced(tuple(points))

    return trace


def _window(_: str, __: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace slow start up to ssthresh, then growth by a segment per round trip."""
    rtt, initial, ssthresh = values["rtt"], values["initial"], values["ssthresh"]
    end = theory.slow_start_duration(ssthresh, rtt, initial)
    points = [(t, initial * 2 ** (t / rtt) if t < end else ssthresh + (t - end) / rtt) for t in places]
    events = (end,) if places[0] < end < places[-1] else ()
    return Traced(tuple(sorted([*points, *((each, ssthresh) for each in events)])), events)


_SETTLED = 2
"""Number of the loss after which teeth are equal."""


def _trajectory(skips_start: bool) -> Callable[[str, str, Values, Sequence[float]], Traced]:
    def trace(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
        rate, rtt, mss = values["rate"], values["rtt"], values["mss"]
        payload_rate = goodput(rate, mss)
        queue = values["queue"] * payload_rate / rate
        end = places[-1]
        lead = 0.0
        if skips_start:
            lead = 4 * theory.sawtooth_period(payload_rate, rtt, mss, queue) + 60 * rtt
        path = theory.Bottleneck(rate=payload_rate, rtt=rtt, queue=queue, mss=mss)
        [flow] = theory.trajectories(path, [theory.Source(algorithm=values["algorithm"])], end + lead)
        start = flow.losses[_SETTLED] if skips_start and len(flow.losses) > _SETTLED else 0.0
        column = {
            "cwnd": flow.cwnd,
            "rtt": flow.rtt,
            "throughput": flow.throughput,
            "queue": [(each - rtt) * rate / 8 for each in flow.rtt],
        }[result]
        points = [(t - start, y) for t, y in zip(flow.t, column, strict=True) if start <= t <= start + end]
        # The cut that ends the tooth before is no part of the first tooth.
        while len(points) > 1 and points[1][0] == points[0][0]:
            del points[0]
        events = [t - start for t in flow.losses if start < t <= start + end]
        return Traced(tuple(points), tuple(events))

    return trace


def _frame(mss: float) -> float:
    return mss + HEADERS + TIMESTAMP_OPTION + ETHERNET_HEADER


def _teeth(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace Mathis' teeth: 1/loss segments each, from half of the peak to the peak by a segment per round trip.

    `sum` adds the teeth of several streams, whose losses are spread evenly over a tooth.
    """
    peak = math.sqrt(8 / (3 * values["loss"]))
    if result == "mean":
        return Traced(tuple((place, 3 / 4 * peak) for place in places))
    scale, streams = values["mss"] if result == "flight" else 1.0, 1.0
    if result == "sum":
        streams = values["streams"]
    half, end = peak / 2, places[-1]
    gap = half / streams
    # Each loss takes half of a peak from the sum, which grows by a segment per stream and round trip.
    top = streams * half + sum((number / streams) * half for number in range(1, int(streams) + 1))
    first = (1 - values["phase"]) * gap
    points, events, start = [], [], first - gap
    while start < end:
        stop = min(start + gap, end)
        points += [(at, scale * (top - streams * (start + gap - at))) for at in (max(start, 0.0), stop)]
        if start > 0:
            events.append(start)
        start += gap
    return Traced(tuple(points), tuple(events))


def _in_flight(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace a path's throughput and RTT against the data in flight in BDPs, up to a full queue."""
    rate, rtt = values["rate"], values["rtt"]
    full = 1 + values["queue"] / theory.bdp(rate, rtt)
    flights = sorted({place for place in (*places, 1.0, full) if places[0] <= place <= min(full, places[-1])})
    ys = [rate * min(1, each) if result == "throughput" else rtt * max(1, each) for each in flights]
    return Traced(tuple(zip(flights, ys, strict=True)))


def _streams(_: str, result: str, values: Values, places: Sequence[float]) -> Traced:
    """Trace Mathis windows that share a path and its queue.

    Each stream wants the window that random loss allows. When path and queue cannot hold them all, the windows share
    the room, and the loss rate follows from Mathis' formula solved for it.
    """
    mss: float = values["mss"]
    rtt: float = values["rtt"]
    loss: float = values["loss"]
    one = theory.reno_window(loss)
    path: float = theory.bdp(values["rate"], rtt) / _frame(mss) if math.isfinite(values["rate"]) else math.inf
    room: float = path + values["queue"] / _frame(mss)

    def at(streams: float) -> float:
        flight = min(streams * one, room)
        match result:
            case "rtt":
                return rtt * max(1.0, flight / path)
            case "loss":
                return loss if streams * one <= room else 3 / 2 * (streams / room) ** 2
            case _:
                return streams * one * 8 * mss / rtt

    corners = [each for each in (path / one, room / one) if places[0] < each < places[-1]]
    return Traced(tuple((place, at(place)) for place in sorted({*places, *corners})))


def _gain(_: str, __: str, ___: Values, places: Sequence[float]) -> Traced:
    cycle, points = theory.BBR_PACING_CYCLE, []
    for number in range(math.ceil(places[-1])):
        gain = cycle[number % len(cycle)]
        points += [(float(number), gain), (min(number + 1.0, places[-1]), gain)]
    changes = [x for (x, y), (_, after) in pairwise(points) if y != after]
    return Traced(tuple(points), tuple(changes))


_MSS = ("size", MSS)
_PATH = {"rate": ("rate", REQUIRED), "rtt": ("time", REQUIRED), "queue": ("queue", REQUIRED), "mss": _MSS}
_FLOW = {"cwnd": "segments", "queue": "size", "rtt": "time", "throughput": "rate"}

LAWS: dict[str, Law] = {
    "sawtooth": Law(
        {TIME: "time"}, _FLOW, {**_PATH, "algorithm": ("name", "reno")}, _trajectory(skips_start=True)
    ),
    "trajectory": Law(
        {TIME: "time"}, _FLOW, {**_PATH, "algorithm": ("name", "cubic")}, _trajectory(skips_start=False)
    ),
    "slow-start": Law(
        {TIME: "time"},
        {"cwnd": "segments"},
        {
            "rtt": ("time", REQUIRED),
            "initial": ("number", theory.INITIAL_WINDOW),
            "ssthresh": ("number", math.inf),
        },
        _window,
    ),
    "tooth": Law(
        {ROUND_TRIPS: "number"},
        {"cwnd": "segments", "mean": "segments", "flight": "size", "sum": "segments"},
        {"loss": ("ratio", REQUIRED), "mss": _MSS, "phase": ("ratio", 0.0), "streams": ("count", 1)},
        _teeth,
    ),
    "in-flight": Law({"in_flight": "bdp"}, {"throughput": "rate", "rtt": "time"}, _PATH, _in_flight),
    "streams": Law(
        {"streams": "count"},
        {"throughput": "rate", "rtt": "time", "loss": "ratio"},
        {
            "loss": ("ratio", REQUIRED),
            "rate": ("rate", math.inf),
            "rtt": ("time", REQUIRED),
            "mss": _MSS,
            "queue": ("queue", math.inf),
        },
        _streams,
    ),
    **PACKET_LAWS,
    "bbr-gain": Law({ROUND_TRIPS: "number"}, {"pacing gain": "number"}, {}, _gain),
}
"""Laws that are no model of the catalog, by name.

`sawtooth` is a trajectory after slow start; `in-flight` and `streams` are limits that meet.
"""
