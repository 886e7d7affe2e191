"""Terminal output with fewer bytes: a terminal shows the same."""

from __future__ import annotations

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from tcptutor.ui.output import ShownCells, compact

COLORS = st.sampled_from(["#ff0000", "#00ff00", "rgb(1,2,3)", "red", "bright_blue", "color(200)", "default"])
STYLES = st.builds(
    Style, color=COLORS, bgcolor=COLORS, bold=st.booleans(), italic=st.booleans(), reverse=st.booleans()
)
PIECES = st.one_of(
    st.tuples(st.text("ab ─█", min_size=1, max_size=5), STYLES),
    st.tuples(st.sampled_from(["\x1b[2;3H", "\x1b[5;1H", "\x1b[K", "plain", "\n", "\x1b[?25l"]), st.none()),
)


def written(pieces: list[tuple[str, Style | None]]) -> str:
    return "".join(text if style is None else style.render(text) for text, style in pieces)


def shown(output: str) -> list[dict[int, object]]:
    screen = pyte.Screen(20, 6)
    pyte.Stream(screen).feed(output)
    return [dict(screen.buffer[row]) for row in range(6)]


@given(st.lists(PIECES, max_size=12))
def test_a_terminal_shows_the_same(pieces) -> None:
    output = written(pieces)
    assert shown(compact(output)) == shown(output)
    assert len(compact(output)) <= len(output)


ROWS = st.lists(
    st.tuples(
        st.integers(1, 3),
        st.integers(1, 4),
        st.lists(st.tuples(st.text("ab█ ", min_size=1, max_size=4), STYLES), max_size=3),
    ),
    max_size=4,
)
"""Parts of rows that a frame draws: row, column, and texts with their styles."""


@given(st.lists(ROWS, max_size=6))
def test_what_the_terminal_shows_already_is_not_sent_again(frames) -> None:
    cells, sent, drawn = ShownCells(), "", ""
    for frame in frames:
        parts = [
            f"\x1b[{row};{column}H" + "".join(style.render(text) for text, style in texts)
            for row, column, texts in frame
        ]
        output = "\n".join([*parts, "\x1b[1;1H"])
        drawn += output
        sent += cells.changes(output)
        assert shown(sent) == shown(drawn)
        assert cells.changes(output) == "" or len(frame) > 1


def test_after_other_output_a_frame_is_sent_whole() -> None:
    cells, frame = ShownCells(), "\x1b[1;1Hhello\x1b[1;1H"
    assert "hello" in cells.changes(frame)
    assert cells.changes(frame) == ""
    assert cells.changes("\x1b[2J") == "\x1b[2J"
    assert "hello" in cells.changes(frame)


def test_a_color_is_sent_once() -> None:
    red, blue = (Style(color=name, bgcolor="#101010") for name in ("#ff0000", "#0000ff"))
    output = written([("a", red), ("\x1b[2;1H", None), ("b", red), ("c", blue)])
    assert len(compact(output)) < 0.6 * len(output)
    assert compact(output).count("16;16;16") == 1


def test_output_without_colors_is_left_alone() -> None:
    assert compact("\x1b[?1049h\x1b[?2026$p") == "\x1b[?1049h\x1b[?2026$p"
