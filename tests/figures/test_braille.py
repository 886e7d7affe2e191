"""Layers of dots: what lies over what, and what tells lines apart without colours."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tcptutor.figures import braille
from tcptutor.figures.braille import Layer, compose
from tcptutor.ui.widgets.chart import chart

WIDTH, HEIGHT = 12, 4
DOTS = braille.ACROSS * WIDTH, braille.DOWN * HEIGHT

points = st.lists(
    st.tuples(st.floats(0, DOTS[0] - 1), st.floats(0, DOTS[1] - 1)), min_size=2, max_size=8
).map(sorted)


def layer(style: str, through: list[tuple[float, float]], pattern: braille.Pattern = braille.SOLID) -> Layer:
    made = Layer(style, *DOTS, pattern)
    made.line(through)
    return made


@given(flow=points, expected=points)
def test_what_is_expected_never_touches_a_flow_s_cell(flow, expected) -> None:
    alone = compose([], [layer("flow", flow)], WIDTH, HEIGHT)
    both = compose([layer("expected", expected)], [layer("flow", flow)], WIDTH, HEIGHT)
    for row, rows in zip(alone, both, strict=True):
        for cell, beside in zip(row, rows, strict=True):
            assert cell is None or beside == cell


@given(through=points)
def test_a_line_has_no_gap(through) -> None:
    columns = layer("flow", through).columns
    first, last = (round(x) for x, _ in (through[0], through[-1]))
    assert all(columns[first : last + 1])
    for before, after in zip(columns[first:last], columns[first + 1 : last + 1], strict=True):
        # Touching, cornerwise at least.
        assert (before | before << 1 | before >> 1) & after


def test_where_flows_meet_all_their_dots_stand_and_none_takes_all_cells() -> None:
    flat = [(0.0, 5.0), (DOTS[0] - 1.0, 5.0)]
    flows = [layer(f"flow-{number}", flat) for number in range(3)]
    cells = [cell for row in compose([], flows, WIDTH, HEIGHT) for cell in row if cell]
    assert {style for _, style in cells} == {"flow-0", "flow-1", "flow-2"}
    crossing = [layer("up", [(0, 0), (23, 15)]), layer("down", [(0, 15), (23, 0)])]
    dots = sum(
        bin(ord(cell[0]) - 0x2800).count("1")
        for row in compose([], crossing, WIDTH, HEIGHT)
        for cell in row
        if cell
    )
    assert dots == sum((crossing[0].columns[x] | crossing[1].columns[x]).bit_count() for x in range(DOTS[0]))


def test_eight_flows_have_eight_patterns() -> None:
    flat = [(0.0, 4.0), (DOTS[0] - 1.0, 4.0)]
    drawn = [tuple(layer("", flat, pattern).columns) for pattern in chart.FLOW_PATTERNS]
    assert len(drawn) == 8
    for one, other in combinations(drawn, 2):
        assert one != other
    glyphs = {pattern.glyph for pattern in chart._PATTERNS.values() if pattern.glyph}
    assert len(glyphs) == 2, "level lines that were not measured"
    assert tuple(layer("", flat, chart._PATTERNS["trajectory"]).columns) not in drawn
    samples = {chart.sample(number) for number in range(8)}
    assert len(samples) == 8, "the pieces in the legend as well"
    # A forecast stands where a flow would, before there is any; curves beside it have letters.
    others = {sample for kind, sample in chart._SAMPLES.items() if kind != "forecast"}
    assert not samples & others, "no flow looks like a limit or a mean"
    after_run = [sample for kind, sample in chart._SAMPLES.items() if kind != "now"]
    assert len(set(after_run)) == len(after_run)
