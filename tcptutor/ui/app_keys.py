"""Keys of the application, which work on every screen unless a field or a terminal takes them."""

from __future__ import annotations

from textual.binding import Binding, BindingType

BINDINGS: list[BindingType] = [
    Binding(
        "ctrl+p",
        "find",
        "find",
        id="app.commands",
        priority=True,
        tooltip="find a term, a page, an experiment, a command",
    ),
    Binding(
        "slash",
        "find(False)",
        "find",
        id="app.search",
        priority=True,
        tooltip="find a page, a term, a formula, an experiment, a question or a run",
    ),
    Binding(
        "p",
        "open_map",
        "pages",
        id="app.pages",
        priority=True,
        tooltip="all pages of the module with their states: filter, open, skip, bookmark, reset",
    ),
    Binding(
        "d",
        "open_glossary",
        "terms",
        id="app.terms",
        priority=True,
        tooltip="define: the terms of this page, and all others",
    ),
    Binding(
        "e",
        "open_bench",
        "bench",
        id="app.bench",
        tooltip="a bench of your own: turn every knob, see the forecast, run it",
    ),
    Binding(
        "H",
        "open_history",
        "runs",
        id="app.history",
        tooltip="your runs: find, open, name, compare, draw over each other, export, delete",
    ),
    Binding(
        "w",
        "what_if",
        "what if",
        id="app.what-if",
        tooltip="what if: repeat the run with one change, at the cursor if there is one",
    ),
    Binding(
        "E",
        "write_notebook",
        "notebook",
        id="app.notebook",
        tooltip="write your notebook: predictions, runs with charts, answers and notes, as one HTML file",
    ),
    Binding(
        "M",
        "show_rules",
        "marks",
        id="app.marks",
        priority=True,
        tooltip="how marks are given in your course, and until when",
    ),
]

STUDY_ACTIONS = ("open_map", "open_glossary", "show_rules")
"""Actions of keys that work at home and on pages only."""
