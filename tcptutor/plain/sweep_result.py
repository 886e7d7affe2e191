"""Result of a sweep in sentences: its state, each value next to the models, and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.measures import MEASURES
from tcptutor.study.live_sweep import LiveSweep

_NAMES: dict[str, str] = dict(CAUSE_NAMES.items())


def outcome(live: LiveSweep) -> Iterator[str]:
    """Yield the outcome of the sweep and its measurements."""
    saved = f"{live.done} of {live.total} runs are saved"
    if live.problem:
        yield f"The sweep stopped: {live.problem}. {saved}; run continues."
    elif live.done < live.total:
        yield f"Stopped: {saved}; run continues."
    elif live.replayed:
        yield "Replayed from recordings."
    else:
        yield f"Done: {live.total} runs{f' in {live.wall_s:.0f} s' if live.wall_s else ''}."
    if live.unsaved:
        yield f"Not saved: {live.unsaved}."
    for at in live.suspect:
        cell = live.cells_at(at)[-1]
        yield f"Suspect at {live.activity.values[at]}: {cell.reason or cell.fidelity}."
    yield from rows(live)


def rows(live: LiveSweep) -> Iterator[str]:
    """Yield a sentence for each value."""
    activity = live.activity
    axis, measure = activity.axis.replace("_", " "), MEASURES[activity.measure]
    for at, (value, figures) in enumerate(zip(activity.values, live.measured, strict=True)):
        if not figures:
            yield f"{axis} {value}: not measured yet."
            continue
        parts = [f"{measure.label} {measure.written(fmean(figures))}"]
        if len(figures) > 1:
            parts.append(
                f"from {measure.written(min(figures))} to {measure.written(max(figures))} in {len(figures)} runs"
            )
        limits = dict.fromkeys(cell.limited_by for cell in live.counted_cells(at) if cell.limited_by)
        parts += [f"limited by {' or '.join(_NAMES.get(each, each) for each in limits)}"] if limits else []
        parts += [f"{line.name} gives {measure.written(line.values[at])}" for line in live.models]
        yield f"{axis} {value}: {', '.join(parts)}."
