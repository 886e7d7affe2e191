"""A moment of a sweep as lines of the screen, the chart first."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base import units
from tcptutor.course.activities.predict import Predict
from tcptutor.course.measures import MEASURES
from tcptutor.ui import words
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.widgets.bench.lines import BAD, GOOD, MUTED, STRONG, TEXT, WARN, Line, paragraph, spread
from tcptutor.ui.widgets.sweep import plot
from tcptutor.ui.widgets.sweep.scene import CurveScene, scene_of


def picture(
    live: LiveSweep,
    predict: Predict | None,
    guess: tuple[str, float] | None,
    said: str,
    width: int,
    height: int,
) -> list[Line]:
    """Exactly the lines that there is room for. Called in a thread."""
    scene = scene_of(live, predict, guess)
    status = [Line.of((said, TEXT))] if said else list(_status(live, width))
    knee = list(_knee(live, scene, predict, width))
    notes = [*_published(live, width), *_doubts(live, width)]
    setup = [_setup(live, width)]
    least = plot.LEAST + 3
    left = height - 1 - len(status)
    below: list[Line] = []
    for part in (knee, notes):
        if left - len(part) >= least:
            below += part
            left -= len(part)
    above: list[Line] = []
    if left - len(setup) > least:
        above = [*setup]
        left -= len(setup)
    gaps = left > 18
    left -= 3 * gaps
    title = plot.title(scene, width, 2 if left > 18 else 1)
    left -= len(title) - 1
    axis = 2 + any(scene.limits) + (scene.knee is not None)
    blank = [Line()] * gaps
    return [
        *above, *blank, *title,
        *plot.drawn(scene, width, max(2, left - axis)), *blank,
        *status, *blank, *below,
    ][:height]  # fmt: skip


def _setup(live: LiveSweep, width: int) -> Line:
    """What all of its experiments have in common."""
    first, *others = (words.experiment_line(each).split(" · ") for each in live.activity.experiments)
    common = [part for part in first if all(part in other for other in others)]
    while len(" · ".join(common)) > width and common:
        common.pop()
    who = {words.flows_line(each) for each in live.activity.experiments}
    right = Line.of((who.pop(), MUTED)) if len(who) == 1 else Line()
    return spread(Line.of((" · ".join(common), MUTED)), right, width)


def progress(live: LiveSweep) -> str:
    """ "3 of 8 runs"."""
    return f"{live.done} of {live.total} runs"


def _status(live: LiveSweep, width: int) -> Iterator[Line]:
    kept = f"{progress(live)} are kept"
    if live.in_progress:
        at = ", ".join(live.activity.values[value] for value in sorted(live.working))
        now = f", at {live.activity.axis.replace('_', ' ')} {at}" if at else ""
        recorded = "recorded runs: " if live.replayed else ""
        yield Line.of((f"▶ {recorded}", STRONG), (f"{progress(live)}{now}", TEXT), ("   s stops", MUTED)).fit(
            width
        )
    elif live.problem:
        yield from paragraph("✗ ", BAD, f"{live.problem} ({kept}; r goes on)", width)
    elif live.done < live.total:
        yield from paragraph("✂ stopped: ", WARN, f"{kept}; r goes on.", width)
    elif live.replayed:
        yield from paragraph("✓ ", GOOD, "played: not run now. r plays it again, v is the table.", width)
    else:
        took = f" in {live.wall_s:.0f} s" if live.wall_s else ""
        more = f"{_again(live)}, v is the table."
        yield from paragraph("✓ ", GOOD, f"{live.total} runs{took}. {more}", width)


def _again(live: LiveSweep) -> str:
    """What r does; on the virtual clock runs without chance are equal."""
    if live.suspect:
        return f"{len(live.suspect)} of {len(live.activity.values)} suspect: r runs those again"
    if any(words.drawn_by_chance(each) for each in live.activity.experiments):
        return "r measures each value once more"
    exact = live.environment is not None and live.environment.clock == "virtual"
    return "r runs them again" + (" (nothing is by chance)" if exact else "")


def _knee(live: LiveSweep, scene: CurveScene, predict: Predict | None, width: int) -> Iterator[Line]:
    """Where it is, by the runs, by the model, and by the student."""
    if predict is None or predict.of != "knee" or scene.knee is None:
        return
    values = live.activity.values
    said = f"measured at {values[scene.knee]}"
    if scene.expected_knee is not None:
        said += f", by {scene.lines[0].name} at {values[scene.expected_knee]}"
    if scene.own is not None:
        said += f", you {scene.own.text}"
    share = units.percent(live.activity.share)
    more = (
        "from there on it rises by more"
        if MEASURES[live.activity.measure].is_cost
        else "beyond it more adds less"
    )
    yield from paragraph("knee: ", STRONG, f"{said} ({more} than {share})", width)


def _published(live: LiveSweep, width: int) -> Iterator[Line]:
    published = live.activity.published
    if published is not None:
        why = f", {published.scaled}" if published.scaled else ""
        yield from paragraph(f"{plot.PUBLISHED} ", "published", f"published: {published.called}{why}", width)


def _doubts(live: LiveSweep, width: int) -> Iterator[Line]:
    if live.unsaved:
        yield from paragraph("⚠ not saved: ", BAD, live.unsaved, width)
    reasons: dict[str, list[str]] = {}
    for at in live.suspect:
        cell = live.cells_at(at)[-1]
        reasons.setdefault(cell.reason or cell.fidelity, []).append(live.activity.values[at])
    for reason, values in reasons.items():
        yield from paragraph(f"⚠ suspect at {', '.join(values)}: ", WARN, reason, width)
