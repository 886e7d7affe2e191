"""Table of a sweep's runs: a row per value of its axis."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from tcptutor.base import columns, units
from tcptutor.course.measures import MEASURES
from tcptutor.course.page_sweep import summaries
from tcptutor.run import mean_of_known
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.widgets.bench.lines import MUTED, TEXT, Line
from tcptutor.ui.widgets.sweep.scene import format_figure, scene_of

GAPS = (3, 2, 1)


def table(live: LiveSweep, cursor: int | None, width: int, room: int) -> list[Line]:
    """Return the table; `cursor` is the index of the value that Enter opens, None without focus."""
    rows = [_head(live), *_rows(live)]
    for hidden in range(3):
        # Columns that were not measured here are dropped first.
        visible = [row[: len(row) - hidden] for row in rows]
        for gap in GAPS:
            lines = columns.table(visible, indent=2, gap=gap, right=True)
            if max(map(len, lines)) <= width:
                break
        else:
            continue
        break
    drawn = [Line.of((lines[0], "model"))]
    for number, line in enumerate(lines[1:]):
        is_selected = number == cursor
        drawn.append(Line.of((f"›{line[1:]}" if is_selected else line, "strong" if is_selected else TEXT)))
    keys = "↑ ↓ choose a run, Enter opens it, v is the curve"
    return [line.fit(min(width, line.width)) for line in [*drawn, Line(), Line.of((keys, MUTED))]][:room]


def _head(live: LiveSweep) -> tuple[str, ...]:
    sweep = live.activity
    model = live.models[0].name if live.models and live.models[0].kind == "formula" else ""
    has_spread = max(map(len, live.measured), default=0) > 1
    head = [sweep.axis.replace("_", " "), MEASURES[sweep.measure].label]
    head += ["spread"] if has_spread else []
    head += [model, "off"] if model else []
    return (*head, "limit", *([] if sweep.measure == "rtt" else ["RTT"]), "loss")


def _rows(live: LiveSweep) -> Iterator[tuple[str, ...]]:
    sweep = live.activity
    kind = MEASURES[sweep.measure].kind
    model = live.models[0] if live.models and live.models[0].kind == "formula" else None
    has_spread = max(map(len, live.measured), default=0) > 1
    limits = scene_of(live, None, None).limits
    for at, summary in enumerate(summaries(sweep, live.cells)):
        row = [f"⚠ {sweep.values[at]}" if at in live.suspect else sweep.values[at]]
        if summary is None:
            yield (*row, "…" if at in live.working else "–", *[""] * (len(_head(live)) - 2))
            continue
        cells = live.counted_cells(at)
        row.append(format_figure(summary.mean, kind))
        if has_spread:
            spread = (max(live.measured[at]) - min(live.measured[at])) / 2
            share = units.share(spread / summary.mean) if summary.mean else ""
            row.append(f"±{share}" if len(cells) > 1 and share else "")
        if model:
            ratio = summary.mean / model.values[at] - 1 if model.values[at] else 0.0
            row += [format_figure(model.values[at], kind), units.signed_percent(ratio)]
        row.append(limits[at])
        rtts = [cell.mean_rtt_s for cell in cells if cell.mean_rtt_s]
        if sweep.measure != "rtt":
            row.append(units.seconds(fmean(rtts)) if rtts else "–")
        lost = mean_of_known(cell.loss_rate for cell in cells)
        yield (*row, units.or_dash(lost, lambda share: units.percent(float(f"{share:.2g}"))))
