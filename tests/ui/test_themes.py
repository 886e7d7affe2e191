"""Themes: contrast by computation, hues for readers with color deficiencies, and the choice that is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest
from textual.color import Color
from textual.theme import Theme

from tcptutor.course.activity import text_id
from tcptutor.course.page_record import Response
from tcptutor.ui import themes
from tcptutor.ui.app import TutorApp
from tcptutor.ui.frame import SCREEN_STYLES, START_STYLES

from .made import MODULE, STEP, one_page
from .screen import keys, settled, text, until, until_text
from .test_footer import question

COMPUTED = {name: look.theme for name, look in themes.LOOKS.items() if not look.theme.ansi}
"""Themes with colors of their own. The terminal decides what the 16 colors of `ansi` look like."""
LEAST = {"high-contrast": 7.0}
"""Least contrast of text where it is more than 4.5:1."""
GRAPHICS = ("--grid", "--frame")
"""Styles that draw lines, never a word; so do those whose color has a percentage."""

Linear = tuple[float, float, float]

DEFICIENCIES = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}  # fmt: skip
"""Linear RGB as seen with complete deficiencies (Machado, Oliveira, Fernandes 2009, table 1)."""


def linear(color: Color) -> Linear:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (component / 255 for component in color.rgb)
    )
    return red, green, blue


def contrast(text_color: Color, ground: Color) -> float:
    """Return the contrast ratio of WCAG 2.2."""
    low, high = sorted(
        0.2126 * red + 0.7152 * green + 0.0722 * blue
        for red, green, blue in map(linear, (text_color, ground))
    )
    return (high + 0.05) / (low + 0.05)


def difference(one: Linear, other: Linear) -> float:
    """Return the distance in OKLab, in percent of that from black to white."""
    return 100 * math.dist(oklab(one), oklab(other))


def oklab(color: Linear) -> tuple[float, ...]:
    to_cones = ((0.41222, 0.53633, 0.05145), (0.21190, 0.68070, 0.10740), (0.08830, 0.28172, 0.62998))
    to_lab = ((0.21045, 0.79362, -0.00407), (1.97800, -2.42859, 0.45059), (0.02590, 0.78277, -0.80868))
    return times(to_lab, times(to_cones, color, 1 / 3))


def times(matrix: tuple[Linear, ...], color: tuple[float, ...], power: float = 1) -> tuple[float, ...]:
    sums = (sum(a * b for a, b in zip(row, color, strict=True)) for row in matrix)
    return tuple(max(0.0, each) ** power if power != 1 else each for each in sums)


def seen(color: Linear, deficiency: str) -> Linear:
    red, green, blue = (min(1.0, max(0.0, each)) for each in times(DEFICIENCIES[deficiency], color))
    return red, green, blue


def variables(theme: Theme) -> dict[str, str]:
    return {**theme.to_color_system().generate(), **theme.variables}


def text_rules() -> Iterator[tuple[str, str, str]]:
    """Yield each rule of our style sheet that sets a color: selector, color, and its own ground or "" for none."""
    styles = START_STYLES.read_text() + SCREEN_STYLES.read_text()
    sheet = re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL)
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet):
        declared = dict(part.split(":", 1) for part in body.split(";") if ":" in part)
        found = {name.strip(): value.strip() for name, value in declared.items()}
        is_text = not found.get("color", "%").endswith("%") and not any(each in selector for each in GRAPHICS)
        if is_text and ":ansi" not in selector:
            yield selector.strip(), found["color"], found.get("background", "")


def resolved(value: str, theme: Theme) -> Color:
    return Color.parse(variables(theme)[value.removeprefix("$")])


@pytest.mark.parametrize("name", COMPUTED)
def test_every_text_style_stands_out_from_every_ground(name: str) -> None:
    theme, least = COMPUTED[name], LEAST.get(name, 4.5)
    grounds = ("$background", "$panel", "$focus")
    faint = {
        f"{selector} {color} on {ground}": round(ratio, 2)
        for selector, color, own in text_rules()
        for ground in ((own,) if own else grounds)
        if (ratio := contrast(resolved(color, theme), resolved(ground, theme))) < least
    }
    assert not faint


@pytest.mark.parametrize("name", COMPUTED)
async def test_no_word_on_a_page_is_faint(name: str, journal: Any, lab: Any) -> None:
    journal.respond(MODULE, STEP, "red", Response((text_id("yes"),), True))
    journal.respond(MODULE, STEP, "blue", Response((text_id("no"),), False))
    app = TutorApp(one_page(question("red"), question("blue")), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        app.choose_theme(name)
        await until_text(pilot, "✗ Not yet.")
        await pilot.press("tab")
        await settled(pilot)
        faint = set(faint_words(app, LEAST.get(name, 4.5)))
    assert not faint


def faint_words(app: TutorApp, least: float) -> Iterator[str]:
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            style = segment.style
            if not any(map(str.isalnum, segment.text)) or style is None:
                continue
            assert style.color is not None and style.bgcolor is not None
            front, back = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            if contrast(front, back) < least:
                yield segment.text


FLOWS = [f"flow-{number}" for number in range(1, 9)]
STATES = ["success", "error", "warning", "accent"]


@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize(
    ("hues", "least"),
    [(FLOWS[:4], 5.0), (STATES, 4.5), ([*FLOWS, "you"], 3.5)],
    ids=["first flows", "states", "flows"],
)
def test_hues_differ_for_every_eye(name: str, hues: list[str], least: float) -> None:
    colors = {hue: linear(resolved(hue, COMPUTED[name])) for hue in hues}
    alike = [
        (one, other, deficiency)
        for one, other in combinations(hues, 2)
        for deficiency in DEFICIENCIES
        if difference(seen(colors[one], deficiency), seen(colors[other], deficiency)) < least
    ]
    assert not alike


async def test_the_choice_is_kept(make_app: Any) -> None:
    first = make_app()
    async with first.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+p", *keys("contrast"))
        await until_text(pilot, "Theme: high contrast")
        await pilot.press("enter")
        await until(pilot, lambda: first.theme == themes.HIGH_CONTRAST.name)
    assert make_app().theme == themes.HIGH_CONTRAST.name


@pytest.mark.parametrize(
    ("terminal", "theme"),
    [("linux", themes.ANSI), ("xterm-256color", themes.DARK)],
    ids=["16 colors", "256 colors"],
)
def test_a_terminal_with_16_colors_gets_its_own(
    make_app: Any, monkeypatch: pytest.MonkeyPatch, terminal: str, theme: Theme
) -> None:
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.delenv("COLORTERM", raising=False)
    assert make_app().theme == theme.name


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "chosen"])
async def test_ansi_uses_the_terminals_colors_alone(make_app: Any, is_kept: bool) -> None:
    if is_kept:
        make_app().settings.set_theme("ansi")
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        if not is_kept:
            app.choose_theme("ansi")
        await until_text(pilot, "ready")
        await settled(pilot)
        styles = [
            each.style for strip in app.screen._compositor.render_strips() for each in strip if each.style
        ]
        colors = [color for style in styles for color in (style.color, style.bgcolor) if color]
        assert text(app)
        assert all(color.is_system_defined for color in colors)
