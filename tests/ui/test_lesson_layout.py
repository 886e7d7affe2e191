"""Which parts of a page are visible, by width and use."""

from __future__ import annotations

from itertools import product

import pytest

from tcptutor.ui.bindings import Entries
from tcptutor.ui.screens.lesson_keys import page_footer
from tcptutor.ui.screens.lesson_layout import Layout

RUN_PAGE = Layout(has_panel=True)


@pytest.mark.parametrize(
    ("layout", "views"),
    [
        (RUN_PAGE._replace(wide=True), ["both", "chart", "text", "both"]),
        (RUN_PAGE, ["text", "chart", "text"]),
        (Layout(wide=True), ["text", "text"]),
    ],
    ids=["two columns", "a single column", "without a panel"],
)
def test_key_c_cycles_through_what_there_is(layout: Layout, views: list[str]) -> None:
    for view in views:
        assert layout.view == view
        layout = layout.next_view()


@pytest.mark.parametrize(
    ("layout", "chart", "shell"),
    [
        (Layout(terminal_open=True), False, False),
        (Layout(terminal_open=True, shell_focused=True), False, True),
        (Layout(terminal_open=True, narrow_view="chart"), True, False),
        (Layout(terminal_open=True, wide=True), False, True),
        (Layout(terminal_open=True, wide=True, wide_view="chart"), True, False),
        (Layout(terminal_open=True, wide=True, tall=True), True, True),
        (Layout(terminal_open=True, wide=True, tall=True, wide_view="text"), False, False),
    ],
)
def test_a_terminal_shows_chart_and_shell_where_both_fit(layout: Layout, chart: bool, shell: bool) -> None:
    assert layout.shows_chart == chart
    assert (layout.view != "text" and layout.shows_shell) == shell


def test_a_shell_that_gets_the_keys_is_visible() -> None:
    for panel, wide, tall, wide_view, narrow_view in product(
        (False, True), (False, True), (False, True), ("both", "chart", "text"), ("chart", "text")
    ):
        layout = Layout(wide, tall, panel, True, True, wide_view, narrow_view)  # type: ignore[arg-type]
        assert layout.view != "text" and layout.shows_shell
        assert layout.classes["-narrow"] is not wide


def test_the_footer_has_the_key_out_of_where_the_student_is() -> None:
    def footer(*states: str) -> Entries:
        names = ("chart_only", "cursor", "terminal", "other_terminal")
        return page_footer(("lesson.run", "run"), **{name: name in states for name in names})

    plain = dict(footer())
    assert plain["lesson.chart"] == "chart" and "lesson.terminal" in plain
    assert dict(footer("chart_only"))["lesson.chart"] == "text"
    with_terminal = footer("cursor", "terminal")
    assert [ids for ids, _ in with_terminal][:2] == ["lesson.pane", "lesson.end-terminal"]
    assert not {"lesson.run", "lesson.terminal"} & {ids for ids, _ in with_terminal}
    blocked = footer("other_terminal")
    assert blocked[0][0] == "lesson.end-terminal" and "lesson.run" in dict(blocked)
