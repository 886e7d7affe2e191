"""Keys of the bench and its footer."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.screens.looking import ARROWS

TYPING = (FooterKey((("Enter", "enter"),), "takes it"), FooterKey((("Esc", "escape"),), "leaves the field"))
TYPED = ("move", "turn", "group", "type", "beside", "keep", "begin", "command", "back")
"""Actions bound to letters, digits or arrows, which a field takes as input."""


def _key(keys: str, action: str, word: str, id: str, tooltip: str) -> Binding:
    return Binding(keys, action, word, priority=True, id=f"workbench.{id}", tooltip=tooltip)


BINDINGS: list[BindingType] = [
    _key("up", "move(-1)", "knob before", "up", "the knob before"),
    _key("down", "move(1)", "next knob", "down", "the next knob"),
    *ARROWS,
    _key("left,minus", "turn(-1)", "turn back", "less", "turn the knob back by a step"),
    _key("right,plus,equals_sign", "turn(1)", "turn on", "more", "turn the knob on by a step"),
    _key("tab", "group(1)", "next group", "group", "to the next group of knobs; Shift+Tab back"),
    Binding("shift+tab", "group(-1)", show=False, priority=True, id="workbench.group-before"),
    _key("enter", "type", "type", "type", "type a value with its unit; empty resets it"),
    _key("d", "own", "own value", "own", "reset the knob to the experiment's file"),
    _key("D", "own_all", "own values", "own-all", "reset all knobs to the experiment's file"),
    _key("r", "run", "run", "run", "run these settings with this seed"),
    _key("s", "stop", "stop", "stop", "stop the run, keeping its data"),
    _key("v", "view", "view", "view", "cycle through forecast, chart, all models, each flow"),
    _key("c", "beside", "beside", "beside", "choose up to five earlier runs to compare"),
    _key("k", "keep", "keep", "keep", "save these settings and their run under a name"),
    _key("f", "begin", "from", "from", "start from saved settings or an experiment of the course"),
    _key("a", "command", "as a command", "command", "the shell command that runs the same"),
    _key("escape,e", "back", "back", "back", "back; the knobs stay as they are"),
]

FOOTER = (
    ("workbench.up workbench.down", "knob"),
    ("workbench.less workbench.more", "turn"),
    ("workbench.run", "run"),
    ("workbench.stop", "stop"),
    ("workbench.view", "view"),
    ("workbench.beside", "beside"),
    ("workbench.keep", "keep"),
    ("app.keys", "keys"),
    ("workbench.back", "back"),
    ("workbench.command", "command"),
    ("workbench.type", "type"),
    ("workbench.group", "group"),
    ("look.look", "look"),
    ("app.what-if", "what if"),
    ("workbench.from", "from"),
    ("app.commands", "find"),
)
