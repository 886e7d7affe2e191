"""`tcptutor model trajectory`: windows over time, as a table or complete as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tcptutor.base import units
from tcptutor.base.chart import COLORS, Chart, ChartAxis, ChartPanel, ChartSeries
from tcptutor.base.columns import WIDTH, table
from tcptutor.base.errors import ParameterError, UnitError
from tcptutor.commands.output import print_json, print_lines
from tcptutor.commands.targets import draw_plot
from tcptutor.theory import LAWS, Bottleneck, Source, Trajectory, bdp, jain_index, notation, trajectories
from tcptutor.theory.catalogue import QUANTITIES, WINDOW_BYTES, Argument, Quantity

NAME = "trajectory"
GIVES = "cwnd, RTT and throughput of flows that share a path"
_ABOUT = (
    (
        "formula",
        "each algorithm's growth and reduction, in steps of a round trip; the queue holds the excess",
    ),
    ("source", "RFC 5681, RFC 9438, RFC 3649; Leith, Shorten 2004; Cardwell et al. 2016; Linux's net/ipv4"),
    ("gives", "a table, with --json every step"),
)
_EXAMPLE = "tcptutor model trajectory algorithm=cubic rate=100Mbit/s rtt=20ms queue=1BDP"
_ROWS = 24
_COLUMNS = 6
"""Largest number of window columns; for more flows the mean is shown."""
_MAX_FLOWS = 1000


def _parameter(name: str, quantity: Quantity, default: Any = None, required: bool = False) -> Argument:
    return Argument(name=name, quantity=quantity, required=required, default=default)


PARAMETERS = (
    _parameter("rtt", Quantity("time", "round-trip time without queue", "20ms"), required=True),
    _parameter(
        "algorithm", Quantity("names", f"of {', '.join(LAWS)}; several take turns", "cubic"), ["reno"]
    ),
    _parameter("rate", Quantity("rate", "payload that the link carries", "100Mbit/s")),
    _parameter("queue", Quantity("queue", "buffer of the link, bytes or BDP; one BDP", "0.5BDP")),
    _parameter("flows", Quantity("count", "flows that start together", "4"), 1),
    _parameter("loss", Quantity("ratio", "every 1/loss-th segment is lost", "0.01%"), 0.0),
    _parameter("mss", QUANTITIES["mss"], 1448.0),
    _parameter("window", WINDOW_BYTES),
    _parameter("duration", Quantity("time", "seconds to compute", "30s"), 30.0),
    _parameter("synchronised", Quantity("switch", "whether a full queue makes all flows lose", "no"), False),
)


def description() -> dict[str, Any]:
    """Describe the model for --json."""
    parameters = [notation.description(parameter) for parameter in PARAMETERS]
    return {"model": NAME, "gives": GIVES, "unit": "series", "parameters": parameters} | dict(_ABOUT[:2])


def run(settings: Mapping[str, str], as_json: bool, plot: Path | None = None) -> int:
    """Explain or compute the model and return the exit code. Raises ParameterError."""
    if not settings and plot is None:
        lines = [f"{NAME}: {GIVES}", *notation.explanation(_ABOUT, PARAMETERS, _EXAMPLE)]
        print_json(description()) if as_json else print_lines(lines)
        return 0
    values = notation.values(NAME, PARAMETERS, settings)
    values["queue"] = _queue(values)
    flows = _play(values)
    if plot is not None:
        draw_plot(plot, _chart(values, flows))
        return 0
    print_json(_document(values, flows)) if as_json else print_lines(_lines(values, flows))
    return 0


def _queue(values: Mapping[str, Any]) -> float | None:
    """Return the queue in bytes; None without a link rate."""
    rate, rtt, queue = values["rate"], values["rtt"], values["queue"]
    if rate is None:
        if queue is not None:
            raise ParameterError("queue: a link without a rate has no queue: set a rate, or omit the queue")
        return None
    product = bdp(rate, rtt)
    try:
        return (
            units.parse_size(queue, product)
            if isinstance(queue, str)
            else product
            if queue is None
            else queue
        )
    except UnitError as error:
        raise ParameterError(f"queue: {error}") from None


def _play(values: Mapping[str, Any]) -> tuple[Trajectory, ...]:
    rate, mss, window = values["rate"], values["mss"], values["window"]
    if rate is None and window is None and not values["loss"]:
        raise ParameterError("rate: without a rate, loss or window the growth never ends: set one of them")
    queue = {} if values["queue"] is None else {"queue": values["queue"]}
    path = Bottleneck(rate=rate, rtt=values["rtt"], mss=mss, **queue)
    names = values["algorithm"]
    if not 1 <= values["flows"] <= _MAX_FLOWS:
        reason = "each one is computed step by step"
        raise ParameterError(f"flows: {values['flows']:g} is out of bounds: 1 to {_MAX_FLOWS}: {reason}")
    count = max(round(values["flows"]), len(names))
    flow = {"loss": values["loss"], "window": None if window is None else window / mss}
    sources = [Source(algorithm=names[place % len(names)], **flow) for place in range(count)]
    return trajectories(path, sources, values["duration"], synchronised=values["synchronised"])


def _document(values: Mapping[str, Any], flows: Sequence[Trajectory]) -> dict[str, Any]:
    return {
        "model": NAME,
        "parameters": dict(values),
        "flows": [
            {
                "algorithm": flow.source.algorithm,
                "mean_cwnd_segments": flow.mean_cwnd(),
                "mean_rtt_s": flow.mean_rtt(),
                "throughput_bps": flow.mean_throughput(),
                "losses_s": flow.losses,
                "t_s": flow.t,
                "cwnd_segments": flow.cwnd,
                "rtt_s": flow.rtt,
                "series_bps": flow.throughput,
            }
            for flow in flows
        ],
        "aggregate": {
            "throughput_bps": sum(flow.mean_throughput() for flow in flows),
            "jain_index": jain_index(flow.mean_throughput() for flow in flows),
        },
        **dict(_ABOUT[:2]),
    }


def _chart(values: Mapping[str, Any], flows: Sequence[Trajectory]) -> Chart:
    """Draw windows, round trips and rates over time; of many flows only the first."""
    panels: list[ChartPanel] = []
    for heading, field, kind in (
        ("Congestion window", "cwnd", "segments"), ("RTT", "rtt", "time"), ("Throughput", "throughput", "rate"),
    ):  # fmt: skip
        columns = [getattr(flow, field) for flow in flows[:_COLUMNS]]
        highest = max(max(column) for column in columns)
        scale, unit = units.axis_unit(highest, kind)
        series = [
            ChartSeries(
                points=[(t, value / scale) for t, value in zip(flow.t, column, strict=True)],
                label=f"flow {number + 1}, {flow.source.algorithm}",
                color=COLORS[number % len(COLORS)],
            )
            for number, (flow, column) in enumerate(zip(flows, columns, strict=False))
        ]
        axis = ChartAxis(high=1.04 * highest / scale)
        panels.append(
            ChartPanel(
                heading=f"{heading}, {unit or kind}", series=series, y=axis, weight=2 if not panels else 1
            )
        )
    given = " ".join(_title(values, flows).split())
    notes = [f"(the first {_COLUMNS} of {len(flows)} flows)"] if len(flows) > _COLUMNS else []
    return Chart(title=[given], panels=panels, x=ChartAxis(high=values["duration"], unit="s"), notes=notes)


def _lines(values: Mapping[str, Any], flows: Sequence[Trajectory]) -> list[str]:
    shown = flows if len(flows) <= _COLUMNS else ()
    heads = [flow.source.algorithm for flow in shown] or [f"mean of {len(flows)}"]
    rows = [["t", *heads, "RTT", "total"]]
    for row in range(_ROWS + 1):
        moment = values["duration"] * row / _ROWS
        points = [point for flow in flows if (point := flow.at(moment))]
        windows = [point.cwnd for point in points]
        if not shown:
            windows = [sum(windows) / len(windows)]
        rtt = units.seconds(sum(point.rtt for point in points) / len(points))
        total = units.rate(sum(point.throughput for point in points))
        rows.append([_seconds(moment), *(f"{each:.1f}" for each in windows), rtt, total])
    widths = [8, *(10 for _ in heads), 10, 14]
    over_time = table(rows, widths, indent=0, gap=0, right=True)
    return [_title(values, flows), *over_time, *_summary(values, flows)]


def _seconds(moment: float) -> str:
    return units.seconds(moment) if moment else "0 s"


def _title(values: Mapping[str, Any], flows: Sequence[Trajectory]) -> str:
    given = {**values, "flows": len(flows)}
    kinds = {parameter.name: parameter.quantity.kind for parameter in PARAMETERS}
    parts = [f"{name} {notation.argument(each, kinds[name])}" for name, each in given.items() if each]
    return textwrap.fill(f"{NAME}: {', '.join(parts)}", WIDTH, subsequent_indent="  ")


def _summary(values: Mapping[str, Any], flows: Sequence[Trajectory]) -> list[str]:
    rates = [flow.mean_throughput() for flow in flows]
    total = units.rate(sum(rates), 4)
    if values["rate"] is not None:
        total += f", {units.percent(sum(rates) / values['rate'])} of the link"
    losses = [len(flow.losses) for flow in flows]
    rows = [
        ("throughput", total),
        ("mean cwnd", f"{sum(flow.mean_cwnd() for flow in flows) / len(flows):.1f} segments a flow"),
        ("mean RTT", units.seconds(sum(flow.mean_rtt() for flow in flows) / len(flows))),
        ("losses", "to ".join(f"{each} " for each in sorted({min(losses), max(losses)})) + "a flow"),
    ]
    if len(flows) > 1:
        rows.append(("Jain's index", f"{jain_index(rates):.4f}"))
    return table(rows, fold=True)
