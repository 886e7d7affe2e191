"""Terminal output with fewer bytes: a terminal shows the same."""

from __future__ import annotations

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from tcptutor.ui.output import compact

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


def test_a_color_is_sent_once() -> None:
    red, blue = (Style(color=name, bgcolor="#101010") for name in ("#ff0000", "#0000ff"))
    output = written([("a", red), ("\x1b[2;1H", None), ("b", red), ("c", blue)])
    assert len(compact(output)) < 0.6 * len(output)
    assert compact(output).count("16;16;16") == 1


def test_output_without_colors_is_left_alone() -> None:
    assert compact("\x1b[?1049h\x1b[?2026$p") == "\x1b[?1049h\x1b[?2026$p"
