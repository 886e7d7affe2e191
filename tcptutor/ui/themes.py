"""Themes with enough contrast for the back row. Words and shapes carry meaning, color repeats it.

Textual derives muted text from the background, which turns plain white in text with mixed styles; ours is a fixed
color.
"""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="tcptutor-dark",
    dark=True,
    background="#0a0c10",
    surface="#0a0c10",
    panel="#1c222b",
    foreground="#f4f6f8",
    primary="#6fd6ff",
    secondary="#a9b7c6",
    accent="#ffd866",
    success="#8ff08f",
    warning="#ffb454",
    error="#ff8a80",
    variables={
        "border": "#4a5665",
        "footer-key-foreground": "#6fd6ff",
        "text-muted": "#95a3b3",
        "focus": "#12171f",
        "you": "#ff8fe0",
        "flow-1": "#6fd6ff",
        "flow-2": "#ff9e4f",
        "flow-3": "#7fe08a",
        "flow-4": "#c4a1ff",
        "flow-5": "#ff7a8a",
        "flow-6": "#38c9b0",
        "flow-7": "#7c9cff",
        "flow-8": "#d9b48a",
    },
)

LIGHT = Theme(
    name="tcptutor-light",
    dark=False,
    background="#ffffff",
    surface="#ffffff",
    panel="#e6ebf0",
    foreground="#101418",
    primary="#00558c",
    secondary="#44505c",
    accent="#8a4b00",
    success="#0b6b0b",
    warning="#8a4b00",
    error="#a80000",
    variables={
        "border": "#8a97a5",
        "text-muted": "#56626e",
        "focus": "#f1f5f9",
        "you": "#b0178f",
        "flow-1": "#00558c",
        "flow-2": "#c24e00",
        "flow-3": "#1a7f2e",
        "flow-4": "#6b3fb5",
        "flow-5": "#c0143c",
        "flow-6": "#007a74",
        "flow-7": "#2a50e0",
        "flow-8": "#6e5320",
    },
)
