"""Keys of a page and its footer."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.screens.looking import ARROWS

TYPING = (
    FooterKey((("Tab", "tab"),), "next"),
    FooterKey((("Esc", "escape"),), "leaves the field"),
)
"""Footer entries for a field, in addition to Enter's."""
TYPED = (
    "go",
    "run",
    "run_unpredicted",
    "stop",
    "hint",
    "again",
    "view",
    "turn",
    "digit",
    "terminal",
    "copy_command",
    "home",
    "withdraw",
    "end_terminal",
)
"""Actions bound to letters, digits or arrows, which a field takes as input."""


def _key(keys: str, action: str, word: str, id: str, tooltip: str) -> Binding:
    return Binding(keys, action, word, priority=True, id=id, tooltip=tooltip)


BINDINGS: list[BindingType] = [
    # With a cursor in the chart, arrows move it; letters still turn pages.
    *ARROWS,
    _key("left,p", "go(-1)", "previous page", "lesson.previous", "the previous page"),
    _key("right,n", "go(1)", "next page", "lesson.next", "the next page"),
    _key(
        "r",
        "run",
        "run",
        "lesson.run",
        "run the experiment; again for a run with a new seed",
    ),
    _key(
        "R",
        "run(True)",
        "run the same",
        "lesson.repeat",
        "repeat the run with the same seed",
    ),
    _key("s", "stop", "stop", "lesson.stop", "stop the run, keeping its data"),
    _key(
        "x",
        "run_unpredicted",
        "run without prediction",
        "lesson.skip",
        "run without a prediction, after a question",
    ),
    _key("u", "withdraw", "undo", "lesson.undo", "withdraw a locked prediction, before the run"),
    _key("h", "hint", "hint", "lesson.hint", "the next hint"),
    _key("a", "again", "again", "lesson.again", "repeat a question with new numbers"),
    _key("c", "view", "chart", "lesson.chart", "show the chart, the text, or both if they fit"),
    # While only the chart is shown, keys that scroll the text bring it back.
    _key("tab", "field", "answer", "lesson.field", "go to the next field; Shift+Tab goes back"),
    Binding("shift+tab", "app.focus_previous", show=False, priority=True, id="lesson.field-before"),
    Binding("up,down,pageup,pagedown,space", "text", show=False, id="lesson.text"),
    _key("v", "turn", "view", "lesson.turn", "cycle through chart, all models, each flow"),
    _key("escape", "back", "back", "lesson.back", "leave the field or the chart"),
    _key("m", "home", "home", "lesson.home", "the list of modules"),
    *(
        Binding(f"{n}", f"digit('{n}')", show=False, priority=True, id=f"lesson.choice-{n}")
        for n in range(10)
    ),
]

FOOTER = (
    ("lesson.previous lesson.next", "page"),
    ("lesson.field", "answer"),
    ("lesson.run", "run"),
    ("lesson.repeat", "same"),
    ("lesson.stop", "stop"),
    ("lesson.undo", "undo"),
    ("lesson.hint", "hint"),
    ("lesson.again", "again"),
    ("lesson.chart", "chart"),
    ("lesson.turn", "view"),
    ("app.keys", "keys"),
    ("lesson.home", "home"),
    ("look.look", "look"),
    ("lesson.terminal", "shell"),
    ("app.what-if", "what if"),
    ("app.bench", "bench"),
    ("app.commands", "find"),
)
