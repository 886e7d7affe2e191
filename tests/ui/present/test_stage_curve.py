"""The measured curve on the stage: every point, large labels, and names that have room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.course import outline
from tcptutor.figures.lines import DATA
from tcptutor.room.deck import find_module, find_step
from tcptutor.room.prepared import PreparedRuns
from tcptutor.ui.present import stage_curve
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.widgets.sweep.scene import CurveScene


def scene(module: str, page: str) -> CurveScene:
    step = find_step(find_module(outline.load(), module), page)
    found = stage_curve.measure(module, step, PreparedRuns(Path("/nowhere")))
    assert found is not None
    return found


@pytest.mark.parametrize("size", [(114, 28), (76, 18), (194, 42)])
@pytest.mark.parametrize(
    ("module", "page"),
    [
        ("tcp-basics", "how-much-is-enough"),
        ("pacing", "a-fair-queue"),
        ("parallel-streams", "near-and-far"),
    ],
)
def test_each_point_is_drawn_with_its_value_below(module: str, page: str, size: tuple[int, int]) -> None:
    curve = scene(module, page)
    canvas = StageCanvas(*size)
    stage_curve.draw(canvas, curve)
    lines = canvas.lines()
    assert all(line.width <= size[0] for line in lines)
    drawn = [cell for line in lines for cell in enumerate(line.cells()) if cell[1][1].startswith(DATA)]
    assert len({column for column, _ in drawn}) >= 2 * len({*curve.measured})
    text = "\n".join(line.text for line in lines)
    assert curve.axis in text
    assert text.count("┬") == len(curve.ticks)
    if curve.knee is not None:
        assert f"knee of the runs at {curve.ticks[curve.knee]}" in text


def test_numbers_are_block_letters_where_there_is_room_and_names_never_overlap() -> None:
    curve = scene("tcp-basics", "how-much-is-enough")
    large, small = StageCanvas(114, 28), StageCanvas(76, 18)
    for canvas in (large, small):
        stage_curve.draw(canvas, curve)
    assert "▀▀▀" in "\n".join(line.text for line in large.lines()[-6:])
    (below,) = [line.text.split() for line in small.lines() if "200" in line.text]
    assert below == [tick for tick in curve.ticks if tick in below]


def test_too_small_a_canvas_stays_empty_and_a_page_without_runs_has_no_curve(tmp_path: Path) -> None:
    canvas = StageCanvas(12, 5)
    stage_curve.draw(canvas, scene("tcp-basics", "how-much-is-enough"))
    assert not "".join(line.text for line in canvas.lines()).strip()
    page = find_step(find_module(outline.load(), "parallel-streams"), "one-lossy-flow")
    assert stage_curve.measure("parallel-streams", page, PreparedRuns(tmp_path)) is None
