"""Description of curves in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tcptutor.figures.curve.law import Points
from tcptutor.figures.curve.scale import written
from tcptutor.figures.curve.scene import AlignedPanels, LabeledCurve, Panel, Region

_LEVEL = 0.05
"""Slope that counts as none, as a share of the panel's diagonal."""
_BENT = 2.0
"""Ratio of the changes in both halves of a piece from which it counts as bent."""
_IN_WORDS = {"in flight": "data in flight"}
"""Names of axes that no sentence can hold."""
_SHORT = 0.02
"""Share of both axes below which a piece is not mentioned."""
_MOST = 4
"""Places listed at most."""
_MOST_PIECES = 6
"""Pieces of a curve that are described separately."""


def describe(scene: AlignedPanels) -> str:
    """Describe the curves from their data."""
    sentences = [sentence for panel in scene.panels for sentence in _panel(scene, panel)]
    sentences += [f"{_at(scene, guide.x)}: {_sentence(guide.text)}" for guide in scene.guides]
    return " ".join(sentences)


def _panel(scene: AlignedPanels, panel: Panel) -> Iterator[str]:
    x, kind = scene.x, panel.scale.kind
    several = len(panel.curves) > 1
    x_name = _IN_WORDS.get(scene.x_name, scene.x_name)
    reach = f"{x_name} from {written(x.low, x.kind)} to {written(x.high, x.kind)}"
    curves = "; ".join(
        f"{_name(curve) if several or curve.label else 'it'} {_course(scene, panel, curve)}"
        for curve in panel.curves
    )
    yield f"Curve{'s' if several else ''} of {panel.name} against {reach}: {_sentence(curves)}"
    for level in panel.levels:
        yield f"Level {level.label or ''}: {written(level.value, kind)}.".replace(" :", ":")
    for mark in panel.marks:
        assert mark.y is not None
        height = "" if any(map(str.isdigit, mark.text)) else f", {written(mark.y, kind)}"
        yield f"{_at(scene, mark.x)}{height}: {_sentence(mark.text)}"
    for region in panel.regions:
        if stretches := _stretches(scene, region):
            yield f"Marked as “{region.text}”: {stretches}."


def _name(curve: LabeledCurve) -> str:
    return curve.label or curve.law_label or curve.quantity


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _stretches(scene: AlignedPanels, region: Region) -> str:
    spans = region.spans()
    listed = [
        f"{written(start, scene.x.kind)} to {written(end, scene.x.kind)}" for start, end in spans[:_MOST]
    ]
    return ", ".join(listed) + (f" and {len(spans) - _MOST} more" if len(spans) > _MOST else "")


def _course(scene: AlignedPanels, panel: Panel, curve: LabeledCurve) -> str:
    kind = panel.scale.kind
    heights = [y for _, y in curve.points]
    reach = f"between {written(min(heights), kind)} and {written(max(heights), kind)}"
    jumps = [x1 for (x0, y0), (x1, y1) in pairwise(curve.points) if x0 == x1 and y1 < y0]
    if jumps:
        falls = ", ".join(_place(scene, x) for x in jumps[:_MOST])
        times = "once" if len(jumps) == 1 else f"{len(jumps)} times"
        return f"swings {reach}, and falls at once {times}: at {falls}"
    steps = [(x1, y1) for (x0, y0), (x1, y1) in pairwise(curve.points) if x0 == x1 and y1 > y0]
    if steps and heights == sorted(heights):
        rises = ", ".join(f"to {written(y, kind)} at {_place(scene, x)}" for x, y in steps[:_MOST])
        return f"begins at {written(heights[0], kind)}, and rises in steps: {rises}"
    pieces = [piece for piece in _pieces(panel, curve) if not _is_short(scene, panel, piece)]
    if len(pieces) > _MOST_PIECES:
        return f"varies {reach}"
    x, y = curve.points[0]
    where = f" at {_place(scene, x)}" if x else ""
    return f"begins at {written(y, kind)}{where}, {', then '.join(_piece(scene, panel, each) for each in pieces)}"


def _pieces(panel: Panel, curve: LabeledCurve) -> Iterator[Points]:
    """Yield pieces that rise, fall or stay level; a mark splits a piece that rises or falls."""
    splits = [mark.x for mark in panel.marks]
    piece, way = [curve.points[0]], None
    for before, point in pairwise(curve.points):
        now = _way(panel, curve, before, point)
        split = now and len(piece) > 1 and any(piece[0][0] < at <= before[0] for at in splits)
        if way is not None and (now != way or split):
            yield tuple(piece)
            piece, splits = [before], [at for at in splits if at > before[0]]
        piece.append(point)
        way = now
    yield tuple(piece)


def _is_short(scene: AlignedPanels, panel: Panel, piece: Points) -> bool:
    (x0, y0), (x1, y1) = piece[0], piece[-1]
    return (
        scene.x.share(x1) - scene.x.share(x0) < _SHORT
        and abs(panel.scale.share(y1) - panel.scale.share(y0)) < _SHORT
    )


def _way(panel: Panel, curve: LabeledCurve, before: tuple[float, float], point: tuple[float, float]) -> int:
    run = (point[0] - before[0]) / (curve.points[-1][0] - curve.points[0][0])
    rise = panel.scale.share(point[1]) - panel.scale.share(before[1])
    if abs(rise) < _LEVEL * run:
        return 0
    return 1 if rise > 0 else -1


def _piece(scene: AlignedPanels, panel: Panel, piece: Points) -> str:
    (_, y0), (x1, y1) = piece[0], piece[-1]
    if abs(panel.scale.share(y1) - panel.scale.share(y0)) < _LEVEL:
        return f"stays nearly level until {_place(scene, x1)}"
    verb = "rises" if y1 > y0 else "falls"
    return f"{verb}{_bend(piece)} to {written(y1, panel.scale.kind)} at {_place(scene, x1)}"


def _bend(piece: Points) -> str:
    middle = (piece[0][0] + piece[-1][0]) / 2
    half = min(piece, key=lambda point: abs(point[0] - middle))[1]
    first, second = abs(half - piece[0][1]), abs(piece[-1][1] - half)
    if first > _BENT * second:
        return ", fast at first and then slowly,"
    return ", slowly at first and then fast," if second > _BENT * first else ""


def _at(scene: AlignedPanels, x: float) -> str:
    return f"At {_place(scene, x)}"


def _place(scene: AlignedPanels, x: float) -> str:
    if scene.x.kind not in ("number", "count"):
        return written(x, scene.x.kind)
    return f"{written(x, scene.x.kind)} {scene.x_name.removesuffix('s') if x == 1 else scene.x_name}"
