"""Chart of a sweep: measurements over models and published points, between axes, with labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tcptutor.base.chart import ratio_ticks
from tcptutor.figures import braille
from tcptutor.figures.axes import Ticks, free_ticks, round_ticks
from tcptutor.figures.braille import Layer, Pattern
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line, Piece
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.sweep.scene import CurveScene

MIN_HEIGHT = 6
"""Minimum lines of a chart in which the shape of a curve is visible."""

POINT, SUSPECT, SPREAD, PUBLISHED, WORKING, OWN_LINE = "●", "○", "┃", "◇", "…", "╏"
KNEE, EXPECTED_KNEE = "▲", "△"
_PATTERNS: dict[str, tuple[Pattern, str, str]] = {
    "link": (braille.RULE, "limit", "┈┈"),
    "models": (braille.DOTTED, "trajectory", "⠢⠢"),
    "formula": (braille.SOLID, "expected", "⠒⠒"),
}
"""Pattern, style and sample of each kind of line, lowest layer first."""

Cells = list[list[tuple[str, str] | None]]


def render(scene: CurveScene, width: int, height: int) -> list[Line]:
    """Return `height` lines of chart, the axis, and the causes of limitation where they fit."""
    across = axes.columns(width)
    cells = _cells(scene, across, height)
    values = [(_column(at, across), name) for at, name in zip(scene.places, scene.ticks, strict=True)]
    ticks = free_ticks(values, across, axes.GUTTER - 1)
    labels = {tick.at: tick.centered_label for tick in ticks}
    # A value without a label has a tick, except above the label of another value.
    taken = {column for tick in ticks for column in range(tick.start, tick.start + len(tick.name))}
    marked = [column for column, _ in values if column in labels or column not in taken]
    frame = axes.frame(
        across,
        height,
        tuple((column, labels.get(column, "")) for column in marked),
        _vertical_ticks(scene, height),
        True,
    )
    right_labels = _right_labels(scene, cells, height)
    lines = []
    for number, text in enumerate(frame):
        pieces: list[Piece] = [(text[: axes.GUTTER], "axis")]
        if number < height:
            style = "axis"
            for cell in cells[number]:
                style = cell[1] if cell else style
                pieces.append((cell[0] if cell else " ", style))
            line = Line.of(*pieces)
            if number in right_labels:
                column, label = right_labels[number]
                line = line.append_at(axes.GUTTER + column, label)
        else:
            line = Line.of(*pieces, (text[axes.GUTTER :], "axis"))
        lines.append(line)
    for tick in ticks:
        if not tick.centered_label.strip():
            start, axis_line = axes.GUTTER + tick.start, lines[-1]
            after = axis_line.part(start + len(tick.name), axis_line.width)
            lines[-1] = axis_line.append_at(start, Line.of((tick.name, "axis"))).append_at(
                start + len(tick.name), after
            )
    # The axis' name is right of its values, like the labels of lines above.
    end = axes.GUTTER + across
    spare = min(MAX_OVERHANG, end - len(lines[-1].text.rstrip()))
    name = shorten(scene.axis, axes.MARGIN - 1 + spare)
    column = end - overhang(name)
    lines[-1] = lines[-1].append_at(column, Line.of((f" {name}", MUTED)))
    return [*lines, *_knee_line(scene, across), *_limits_line(scene, across)]


def title(scene: CurveScene, width: int, lines: int = 1) -> list[Line]:
    """Return the quantity of the vertical axis and the legend, in at most `lines` lines."""
    has_spread = any(each and each[0] < each[2] for each in scene.measured)
    parts: list[list[Piece]] = [
        [(POINT, "point"), (" mean", TEXT)] if has_spread else [(POINT, "point"), (" measured", TEXT)]
    ]
    if scene.suspect:
        parts.append([(SUSPECT, MUTED), (" suspect", TEXT)])
    if has_spread:
        parts.append([(SPREAD, "point"), (" spread", TEXT)])
    if scene.published:
        parts.append([(PUBLISHED, "published"), (" published", TEXT)])
    if scene.own:
        parts.append([(OWN_LINE if scene.own.at is None else "━━", "you"), (" you", TEXT)])
    for line in scene.lines:
        _, style, sample = _PATTERNS[line.kind]
        parts.append([(sample, style), (f" {line.name}", TEXT)])
    rows: list[list[Piece]] = [[(scene.quantity, STRONG)]]
    for part in parts:
        while rows:
            gap = [("   ", TEXT)] if rows[-1] else []
            if sum(len(text) for text, _ in [*rows[-1], *gap, *part]) <= width:
                rows[-1] += [*gap, *part]
                break
            if len(rows) == lines:
                break
            rows.append([])
    return [Line.of(*row) for row in rows]


def _cells(scene: CurveScene, across: int, height: int) -> Cells:
    width, dots = braille.ACROSS * across, braille.DOWN * height
    layers = [_grid(scene, width, dots, height)]
    for kind, (pattern, style, _) in _PATTERNS.items():
        for line in scene.lines:
            if line.kind == kind:
                layer = Layer(style, width, dots, pattern)
                trajectory = scene.trajectory(line, 2 * across)
                layer.line([(at * (width - 1), scene.height(value) * (dots - 1)) for at, value in trajectory])
                layers.append(layer)
    cells = braille.compose(layers, [], across, height)
    if scene.own is not None:
        _draw_own(cells, scene, across, height)
    for at, value in scene.published:
        if value <= scene.top:
            cells[height - 1 - _row_from_bottom(value, scene, height)][_column(at, across)] = (
                PUBLISHED,
                "published",
            )
    for index, (at, figures) in enumerate(zip(scene.places, scene.measured, strict=True)):
        column = _column(at, across)
        if figures is not None:
            low, mean, high = (_row_from_bottom(min(value, scene.top), scene, height) for value in figures)
            mark, style = (SUSPECT, MUTED) if index in scene.suspect else (POINT, "point")
            for row in range(low, high + 1):
                cells[height - 1 - row][column] = (SPREAD, style)
            cells[height - 1 - mean][column] = (mark, style)
        elif index in scene.working:
            cells[height - 1][column] = (WORKING, "point")
    _name_own(cells, scene, across)
    return cells


def _draw_own(cells: Cells, scene: CurveScene, across: int, height: int) -> None:
    """Draw the student's prediction: vertical for a knee, horizontal around its place for a value."""
    own = scene.own
    assert own is not None
    if own.at is not None:
        if own.value > scene.top:
            return
        row = height - 1 - _row_from_bottom(own.value, scene, height)
        middle, reach = _column(own.at, across), max(3, across // 10)
        for column in range(max(0, middle - reach), min(across, middle + reach + 1)):
            cells[row][column] = ("━", "you")
    elif own.knee is not None:
        column = _column(own.knee, across)
        for row in range(height):
            cells[row][column] = (OWN_LINE, "you")


def _name_own(cells: Cells, scene: CurveScene, across: int) -> None:
    """Label the vertical line of a prediction in the highest row with room."""
    own = scene.own
    if own is None or own.at is not None or own.knee is None:
        return
    column, name = _column(own.knee, across), f"you {own.text}"
    for start in (column + 2, column - 1 - len(name)):
        if start < 0 or start + len(name) > across:
            continue
        for row in cells:
            if all(cell is None or cell[1] == "grid" for cell in row[start : start + len(name)]):
                row[start : start + len(name)] = [(letter, "you") for letter in name]
                return


def _grid(scene: CurveScene, width: int, dots: int, height: int) -> Layer:
    grid = Layer("grid", width, dots, braille.SPARSE)
    for row, _ in _vertical_ticks(scene, height):
        if row:
            for column in range(0, width, 4):
                grid.span(column, row * braille.DOWN + 1, row * braille.DOWN + 1)
    return grid


def _right_labels(scene: CurveScene, cells: Cells, height: int) -> dict[int, tuple[int, Line]]:
    """Return labels right of the chart by line from the top, each with its first column.

    Labels slightly too long start inside the chart, over empty cells.
    """
    labels_wanted: list[tuple[int, tuple[str, ...], str]] = []
    if scene.own is not None and scene.own.at is not None:
        own = scene.own.text
        labels_wanted.append(
            (
                _row_from_bottom(min(scene.own.value, scene.top), scene, height),
                (f"you {own}", own, "you"),
                "you",
            )
        )
    for line in scene.lines:
        if line.values[-1] <= scene.top:
            _, style, _ = _PATTERNS[line.kind]
            name = shorten(line.name, axes.MARGIN - 1)
            labels_wanted.append((_row_from_bottom(line.values[-1], scene, height), (name,), style))
    taken: dict[int, tuple[int, Line]] = {}
    for row, names, style in labels_wanted:
        near = sorted(range(height), key=lambda at, row=row: (abs(at - row), at < row))  # type: ignore[misc]
        lines = [height - 1 - at for at in near if abs(at - row) <= 2]
        free = [at for at in lines if at not in taken]
        fitting = ((at, name) for name in names for at in free if fits_right(name, cells[at]))
        at, name = next(fitting, (None, ""))
        if at is not None:
            column = len(cells[at]) - overhang(name)
            taken[at] = column, Line.of((f" {name}", style))
    return taken


def _knee_line(scene: CurveScene, across: int) -> Iterable[Line]:
    """Yield the knee by the runs and by the model."""
    if scene.knee is None:
        return
    at = _column(scene.places[scene.knee], across)
    pieces: list[Piece] = [("knee".ljust(axes.GUTTER + at), MUTED), (f"{KNEE} runs", "point")]
    line = Line.of(*pieces)
    if scene.expected_knee is not None and scene.expected_knee != scene.knee:
        model = _column(scene.places[scene.expected_knee], across)
        name = f"{EXPECTED_KNEE} model"
        if model > at and axes.GUTTER + model > line.width:
            line = line.append_at(axes.GUTTER + model, Line.of((name, "expected")))
        elif model + len(name) < at:
            before = Line.of(("knee".ljust(axes.GUTTER + model), MUTED), (name, "expected"))
            line = before.append_at(axes.GUTTER + at, Line.of(pieces[1]))
        elif model < at:
            before = Line.of(("knee".ljust(axes.GUTTER + model), MUTED), (EXPECTED_KNEE, "expected"))
            line = before.append_at(axes.GUTTER + at, Line.of(pieces[1]))
    yield line


def _limits_line(scene: CurveScene, across: int) -> Iterable[Line]:
    """Yield the causes that limited the runs, under their values."""
    if not any(scene.limits):
        return
    text = [" "] * (axes.GUTTER + across + 3)
    previous, end = "", axes.GUTTER - 1
    for at, word in zip(scene.places, scene.limits, strict=True):
        start = axes.GUTTER + _column(at, across) - len(word) // 2
        # A cause shared by consecutive values is written at the first of them with room.
        if word and word != previous and end < start <= len(text) - len(word):
            text[start : start + len(word)] = word
            previous, end = word, start + len(word)
    line = "".join(text).rstrip()
    yield Line.of((f"{'limit':{axes.GUTTER - 1}}", MUTED), (line[axes.GUTTER - 1 :], TEXT))


def _vertical_ticks(scene: CurveScene, height: int) -> Ticks:
    number = max(2, height // 3)
    values = ratio_ticks(scene.bottom, scene.top, number) if scene.bottom else round_ticks(scene.top, number)
    return tuple((_row_from_bottom(value, scene, height), f"{value:g}") for value in values)


def _column(at: float, across: int) -> int:
    return min(across - 1, max(0, round(at * (braille.ACROSS * across - 1)) // braille.ACROSS))


def _row_from_bottom(value: float, scene: CurveScene, height: int) -> int:
    dots = braille.DOWN * height
    return min(height - 1, max(0, round(scene.height(value) * (dots - 1)) // braille.DOWN))


MAX_OVERHANG = 3
"""Columns of the chart that a label at the right may cover."""


def shorten(name: str, room: int) -> str:
    """Return `name` if it fits, otherwise as many words before the first comma as fit."""
    if len(name) <= room:
        return name
    first, *further = name.partition(",")[0].split()
    for word in further:
        if len(first) + 1 + len(word) > room:
            break
        first += f" {word}"
    return first if len(first) <= room else ""


def overhang(name: str) -> int:
    """Return the columns of the chart that a label at the right covers."""
    return max(0, len(name) + 1 - axes.MARGIN)


def fits_right(name: str, row: Sequence[tuple[str, str] | None]) -> bool:
    """Return whether a label fits right of a row of the chart, or covers only free columns at its end."""
    inside = overhang(name)
    return inside == 0 or (
        inside <= min(MAX_OVERHANG, len(row))
        and all(cell is None or cell[1] in ("grid", "you") for cell in row[-inside:])
    )
