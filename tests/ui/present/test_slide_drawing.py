"""Drawings of slides without an app: thick lines, figures of the course, and texts at any size."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course import load
from tcptutor.course.activities.choice import MultipleChoice, Order
from tcptutor.course.activity import Activity
from tcptutor.figures.lines import TEXT
from tcptutor.room.asked import ask
from tcptutor.room.deck import lecture_of, slide_of
from tcptutor.room.talk import LecturePlace, Talk
from tcptutor.ui.present import large_text, stage_question, stage_text
from tcptutor.ui.present.block_raster import BOTH, BlockRaster
from tcptutor.ui.present.page_figures import fit
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_slide import StageSlide
from tcptutor.ui.present.stage_text import blocks_of
from tcptutor.ui.widgets.page.text import inline


def test_level_and_steep_parts_of_a_line_are_a_cell_thick() -> None:
    raster = BlockRaster(4, 4)
    raster.thick_line([(2.0, 2.0)] * 4 + [(6.0, 6.0)] * 4, "flow-1")
    top, *steep, level, below = [line.text for line in raster.lines()]
    assert steep == ["  █ "]
    assert level == "███ "
    assert top.endswith("█")
    assert not below.strip()


def test_crossing_lines_keep_both_colors_in_a_full_cell() -> None:
    raster = BlockRaster(1, 1)
    raster.span(0, 0, 1, "flow-1")
    raster.span(1, 0, 1, "flow-2")
    ((text, style),) = list(raster.lines()[0].pieces())
    assert text in "▌▐"
    assert set(style.split(BOTH)) == {"flow-1", "flow-2"}


def test_values_beyond_the_axis_run_along_its_edge() -> None:
    raster = BlockRaster(1, 2)
    raster.thick_line([(9.0, 30.0)] * 2, "flow-1")
    assert [line.text for line in raster.lines()] == ["█", " "]


def test_figures_of_the_course_fit_a_slide() -> None:
    width, rows = 114, 28
    figures = [figure for module in load().modules for step in module.steps for figure in step.figures]
    assert figures
    for figure in figures:
        lines = fit(figure, width, rows).draw()
        assert len(lines) <= rows, figure.id
        assert max(line.width for line in lines) <= width, figure.id


def test_a_long_text_gets_smaller_until_it_fits() -> None:
    heights = []
    for words in (5, 40, 160):
        canvas = StageCanvas(114, 28)
        assert stage_text.draw_blocks(canvas, 0, blocks_of("window " * words)) <= canvas.height
        heights.append("window" in "".join(line.text for line in canvas.lines()))
    assert heights == [False, False, True]


def test_tables_are_in_columns_and_code_stays_as_it_is_written() -> None:
    canvas = StageCanvas(60, 14)
    text = "Look:\n\n| a | long |\n| --- | :-: |\n| word | 2 |\n\n```\n| $ ss -ti\n```"
    stage_text.draw_blocks(canvas, 0, blocks_of(text))
    lines = [line.text.rstrip() for line in canvas.lines()]
    assert "| $ ss -ti" in lines
    head, row = (next(line for line in lines if line.startswith(word)) for word in ("a ", "word "))
    assert head.index("long") == row.index("2")
    assert not any("---" in line for line in lines)


def test_bullets_hang_and_emphasis_is_plain() -> None:
    (first, second) = blocks_of("1. **one** and\n   more\n- two")
    assert (first.lead, first.text) == ("1.", "one and more")
    assert (second.lead, second.text, second.style) == ("•", "two", TEXT)


def test_choices_of_a_sentence_are_block_letters() -> None:
    canvas = StageCanvas(114, 21)
    choices = [f"{name} gets most of what the link carries" for name in ("Reno", "CUBIC", "BBR", "Nobody")]
    question = "Three flows share a link of 10 Mbit/s with a queue of a few packets. Who gets most of it?"
    stage_question.draw_question(canvas, question, choices)
    shown = [line.text for line in canvas.lines()]
    for choice in choices:
        assert any(large_text.draw(choice, 2)[1].rstrip() in line for line in shown)


def test_a_prediction_names_its_run_below_the_question() -> None:
    canvas = StageCanvas(114, 21)
    stage_question.draw_question(canvas, "What throughput?", (), setting="Reno · 100 Mbit/s · 50 ms")
    shown = [line.text for line in canvas.lines()]
    assert all(any(row.rstrip() in text for text in shown) for row in large_text.draw("Reno · 100 Mbit/s", 2))


def test_the_numbers_of_a_curves_axes_are_three_cells_high_where_there_is_room() -> None:
    page = next(step for module in load().modules for step in module.steps if step.id == "one-lossy-flow")
    (figure,) = [each for each in page.figures if each.id == "tooth"]
    lines = [line.text for line in fit(figure, 114, 26).draw()]
    assert len(lines) <= 26
    for number, start in (("60", 0), ("80", 20)):
        rows = [row.rstrip() for row in large_text.draw(number, 2)]
        assert any(
            all(row in line[start:] for row, line in zip(rows, lines[at : at + 3], strict=True))
            for at in range(len(lines) - 2)
        )
    assert any(line.lstrip().startswith("60") for line in (each.text for each in fit(figure, 78, 18).draw()))


@pytest.mark.parametrize("kind", [MultipleChoice, Order])
def test_a_question_by_hands_hides_its_answer_until_asked(kind: type[Activity]) -> None:
    course = load()
    asked = [
        (module, step, each)
        for module in course.modules
        for step in module.steps
        for each in step.activities
        if isinstance(each, kind)
    ]
    for module, step, activity in asked:
        slide = slide_of(module, step, [f"ask {activity.id}", f"answer {activity.id}"])
        slides = StageSlide(lecture_of(course, "hands", [slide]), course, "seed")
        places, rights = [], []
        for at in (0, 1):
            canvas = StageCanvas(194, 60)
            slides.draw_body(canvas, Talk(place=LecturePlace(0, at)), None, -1)
            shown = "\n".join(line.text for line in canvas.lines())
            starts = [inline(" ".join(text.split())).plain for text in activity.listed]
            places.append([shown.find(start) for start in starts])
            rights.append([start for start in starts if start in shown])
        assert -1 not in places[0]
        if isinstance(activity, Order):
            assert places[0] != sorted(places[0]), "the order of the page is the answer"
            assert places[1] == sorted(places[1])
        else:
            assert isinstance(activity, MultipleChoice)
            assert all(starts[index] in rights[1] for index in activity.right)
        with pytest.raises(UsageError, match="show of hands"):
            ask(step, activity.id, module=module.id, seed="seed")
    assert asked
