"""Themes: light, dark, high contrast, and the terminal's own 16 colors.

Words and shapes carry meaning; color repeats it. The hues of flows, and of right, wrong, warnings and limits, differ
for readers with any of the three color deficiencies. All text has a contrast of at least 4.5:1 (WCAG 2.2, 1.4.3), and
of 7:1 in the theme with high contrast; the contrast of `ansi` is up to the terminal.

Two hues have a fixed meaning: the accent marks the next step, the hue of the first flow marks data. Titles are bold.

Textual derives muted text from the background, which turns plain white in text with mixed styles; these themes use a
fixed color.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter
from textual.theme import Theme


class Look(NamedTuple):
    """A theme and its words in the palette."""

    theme: Theme
    title: str
    about: str


def _theme(
    name: str,
    *,
    dark: bool,
    ground: str,
    panel: str,
    text: str,
    hues: dict[str, str],
    ansi: bool = False,
) -> Theme:
    """Return a theme with `hues`: Textual's own colors by their names, and variables of our style sheet."""
    return Theme(
        name=f"tcptutor-{name}",
        dark=dark,
        ansi=ansi,
        background=ground,
        surface=ground,
        panel=panel,
        foreground=text,
        primary=hues["secondary"],
        secondary=hues["secondary"],
        accent=hues["accent"],
        success=hues["success"],
        warning=hues["warning"],
        error=hues["error"],
        variables={"footer-key-foreground": hues["secondary"], **hues},
    )


DARK = _theme(
    "dark",
    dark=True,
    ground="#0a0c10",
    panel="#1c222b",
    text="#f4f6f8",
    hues={
        "secondary": "#a9b7c6",
        "accent": "#ffd94f",
        "success": "#8af5ac",
        "warning": "#f0a53c",
        "error": "#f4646a",
        "border": "#4a5665",
        "text-muted": "#95a3b3",
        "focus": "#12171f",
        "you": "#ec6fab",
        "flow-1": "#6fd6f2",
        "flow-2": "#ffa22e",
        "flow-3": "#97f0a0",
        "flow-4": "#b193ff",
        "flow-5": "#f65d55",
        "flow-6": "#86fff4",
        "flow-7": "#7a86ff",
        "flow-8": "#d6c58a",
    },
)

LIGHT = _theme(
    "light",
    dark=False,
    ground="#ffffff",
    panel="#e6ebf0",
    text="#101418",
    hues={
        "secondary": "#44505c",
        "accent": "#724b00",
        "success": "#1b7548",
        "warning": "#a55203",
        "error": "#890020",
        "border": "#8a97a5",
        "text-muted": "#56626e",
        "focus": "#f1f5f9",
        "you": "#842375",
        "flow-1": "#016bb9",
        "flow-2": "#b04000",
        "flow-3": "#177346",
        "flow-4": "#5600ac",
        "flow-5": "#910034",
        "flow-6": "#004c4e",
        "flow-7": "#3e07eb",
        "flow-8": "#583d00",
    },
)

HIGH_CONTRAST = _theme(
    "high-contrast",
    dark=True,
    ground="#000000",
    panel="#1f1f1f",
    text="#ffffff",
    hues={
        "secondary": "#d8dee6",
        "accent": "#ffeb4e",
        "success": "#a2ffc5",
        "warning": "#ffb243",
        "error": "#ff8588",
        "border": "#9aa4b0",
        "text-muted": "#c9d1da",
        "focus": "#161616",
        "you": "#ff8bbd",
        "flow-1": "#90e0fe",
        "flow-2": "#ffb464",
        "flow-3": "#a7fdaa",
        "flow-4": "#cbabff",
        "flow-5": "#ff877b",
        "flow-6": "#7bfff7",
        "flow-7": "#85a7ff",
        "flow-8": "#dacfa2",
    },
)

ANSI = _theme(
    "ansi",
    dark=True,
    ansi=True,
    ground="ansi_default",
    panel="ansi_default",
    text="ansi_default",
    hues={
        "secondary": "ansi_default",
        "accent": "ansi_yellow",
        "success": "ansi_green",
        "warning": "ansi_yellow",
        "error": "ansi_red",
        "border": "ansi_bright_black",
        "text-muted": "ansi_bright_black",
        "focus": "ansi_default",
        "you": "ansi_magenta",
        "flow-1": "ansi_cyan",
        "flow-2": "ansi_yellow",
        "flow-3": "ansi_green",
        "flow-4": "ansi_magenta",
        "flow-5": "ansi_red",
        "flow-6": "ansi_bright_cyan",
        "flow-7": "ansi_blue",
        "flow-8": "ansi_bright_yellow",
        "scrollbar": "ansi_default",
        "scrollbar-hover": "ansi_default",
        "scrollbar-active": "ansi_default",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "input-cursor-text-style": "reverse",
        "link-color": "ansi_default",
        "link-background-hover": "ansi_default",
        "link-color-hover": "ansi_default",
    },
)

LOOKS = {
    "dark": Look(DARK, "dark", "light text on a dark ground"),
    "light": Look(LIGHT, "light", "dark text on white"),
    "high-contrast": Look(HIGH_CONTRAST, "high contrast", "every text at least 7:1 on black"),
    "ansi": Look(ANSI, "terminal colors (ansi)", "the 16 colors that you set in your terminal"),
}
"""Themes by the names in the settings."""


def named(name: str, color_system: str | None = None) -> Theme:
    """Return the theme of that name; a default for an unknown name.

    Args:
        name: Its name in `LOOKS`.
        color_system: That of the terminal, as rich names it. With "standard", 16 colors, the default is `ansi`, since
            the nearest of 16 colors may be unreadable.
    """
    default = ANSI if color_system == "standard" else DARK
    return LOOKS[name].theme if name in LOOKS else default


_BRIGHT_BLACK = 8


class TerminalStyles(LineFilter):
    """Filter for the terminal's own colors: bright black text becomes dim, a bright black ground reversed.

    Bright black itself is gray in some terminals, and the ground's color in others.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002
        return [
            Segment(segment.text, _in_terminal(segment.style), segment.control)
            if segment.style and segment.control is None
            else segment
            for segment in segments
        ]


@lru_cache(maxsize=256)
def _in_terminal(style: Style) -> Style:
    if style.bgcolor and style.bgcolor.number == _BRIGHT_BLACK:
        return style + Style(color="default", bgcolor="default", reverse=True)
    if style.color and style.color.number == _BRIGHT_BLACK:
        return style + Style(color="default", dim=True)
    return style


TERMINAL_STYLES = TerminalStyles()
"""The shared filter: Textual caches its results per filter."""
