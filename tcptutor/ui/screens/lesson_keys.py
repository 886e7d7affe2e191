"""Keys of a page and its footers."""

from __future__ import annotations

from typing import Any

from textual.binding import Binding, BindingType
from textual.screen import Screen

from tcptutor.ui import bindings
from tcptutor.ui.bindings import Entries, FooterKey, priority
from tcptutor.ui.screens.chart_screen import ARROWS, POINTS, with_cursor
from tcptutor.ui.widgets.chart.edge import EdgeKeys
from tcptutor.ui.widgets.page.box import ActivityBox

TYPED = (
    "go",
    "onward",
    "deeper",
    "run",
    "skip",
    "stop",
    "hint",
    "again",
    "view",
    "turn",
    "digit",
    "terminal",
    "copy_command",
    "home",
    "others",
    "network",
    "note",
    "report",
    "reference",
    "answers",
    "withdraw",
    "follow",
    "return_from_link",
    "end_terminal",
    "figure",
)
"""Actions bound to letters, digits or arrows, which a field takes as input."""


BINDINGS: list[BindingType] = [
    priority(
        "enter", "onward", "next", "lesson.onward", "the next page of your path, without pages you know"
    ),
    priority("D", "deeper", "deeper", "lesson.deeper", "the deeper page that follows here, off your path"),
    # With a cursor in the chart, arrows move it; brackets still turn pages.
    *ARROWS,
    priority(
        "left,[", "go(-1)", "previous page", "lesson.previous", "the previous page, on your path or not"
    ),
    priority("right,]", "go(1)", "next page", "lesson.next", "the next page, on your path or not"),
    priority(
        "r",
        "run",
        "run",
        "lesson.run",
        "run the experiment; again for a run with a new seed",
    ),
    priority(
        "R",
        "run(True)",
        "run the same",
        "lesson.repeat",
        "repeat the run with the same seed",
    ),
    priority("s", "stop", "stop", "lesson.stop", "stop the run, keeping its data"),
    priority(
        "x",
        "skip",
        "skip",
        "lesson.skip",
        "run without a prediction, after a question; after the run, skip what it showed",
    ),
    priority("u", "withdraw", "undo", "lesson.undo", "withdraw a locked prediction, before the run"),
    priority("h", "hint", "hint", "lesson.hint", "the next hint"),
    priority(
        "f2",
        "sureness",
        "how sure",
        "lesson.sureness",
        "how sure you are of your answer: guessing, fairly sure, sure",
    ),
    priority("a", "again", "again", "lesson.again", "repeat a question with new numbers"),
    priority("c", "view", "chart", "lesson.chart", "show the chart, the text, or both if they fit"),
    # While only the chart is shown, keys that scroll the text bring it back.
    priority("tab", "field", "answer", "lesson.field", "go to the next field; Shift+Tab goes back"),
    Binding("shift+tab", "app.focus_previous", show=False, priority=True, id="lesson.previous-field"),
    Binding("up,down,pageup,pagedown,space", "text", show=False, id="lesson.text"),
    # With a cursor in the chart, they move the cursor instead of the figure in view.
    *POINTS,
    priority(
        "f",
        "figure('toggle')",
        "play",
        "figure.play",
        "play or pause the moving figure in view; so does Space at the end of the text",
    ),
    priority("comma", "figure('step', -1)", "back", "figure.back", "the figure: back to its previous stop"),
    priority("full_stop", "figure('step', 1)", "on", "figure.on", "the figure: on to its next stop"),
    priority(
        "less_than_sign", "figure('change_speed', -1)", "slower", "figure.slower", "play the figure slower"
    ),
    priority(
        "greater_than_sign", "figure('change_speed', 1)", "faster", "figure.faster", "play the figure faster"
    ),
    priority("v", "turn", "view", "lesson.turn", "cycle through chart, all models, each flow, delays"),
    priority("n", "network", "network", "lesson.network", "the network, with what is set on each interface"),
    priority(
        "A", "answers", "answers", "lesson.answers", "all your answers on this page, with their numbers"
    ),
    priority(
        "equals_sign",
        "reference",
        "reference",
        "lesson.reference",
        "the finished page in short: idea, formula with a calculator, your run and answers",
    ),
    priority("N", "note", "note", "lesson.note", "your own note on this page"),
    priority(
        "exclamation_mark",
        "report",
        "report",
        "lesson.report",
        "report what is wrong on this page, for your teacher",
    ),
    priority("O", "others", "others", "lesson.others", "open or close what others measured"),
    priority("escape", "back", "back", "lesson.back", "leave the field or the chart"),
    priority("g", "follow", "go to", "lesson.follow", "go to a page that this page names"),
    priority("backspace", "return_from_link", "return", "lesson.return", "the page with the followed link"),
    priority("m", "home", "home", "lesson.home", "the list of modules"),
    *(
        Binding(f"{n}", f"digit('{n}')", show=False, priority=True, id=f"lesson.choice-{n}")
        for n in range(10)
    ),
    priority(
        "t",
        "terminal",
        "terminal",
        "lesson.terminal",
        "the terminal, with a shell on each host",
    ),
    priority("f6", "switch_pane", "terminal", "lesson.pane", "from the page to its terminal, and back"),
    priority(
        "f9",
        "type_command",
        "type command",
        "lesson.type-command",
        "type the page's next command into the shell of its host; Enter there runs it",
    ),
    priority("y", "copy_command", "copy command", "lesson.copy-command", "copy the page's next command"),
    priority(
        "T",
        "end_terminal",
        "close terminal",
        "lesson.end-terminal",
        "close the terminal; its runs are saved",
    ),
]

FOOTER: Entries = (
    ("lesson.return", "return"),
    ("figure.play", "play"),
    ("figure.back figure.on", "step"),
    ("lesson.field", "answer"),
    ("lesson.run", "run"),
    ("lesson.stop", "stop"),
    ("cursor.toggle", "look"),
    ("lesson.hint", "hint"),
    ("lesson.undo", "undo"),
    ("lesson.terminal", "terminal"),
    ("lesson.chart", "chart"),
    ("lesson.again", "again"),
    ("lesson.turn", "view"),
    ("lesson.onward", "next"),
    ("app.what-if", "what if"),
    ("app.pages", "pages"),
    ("app.terms", "terms"),
    ("lesson.home", "home"),
    ("app.keys", "keys"),
)
"""Keys of most use first; the list of keys has the others."""

OTHER_KEYS: Entries = (
    ("Space ↑ ↓", "scroll the text; so do PgUp, PgDn, Home and End"),
    ("↑ ↓ Enter", "in a question: choose, and answer or lock in"),
)
"""(keys, description) of keys that need no binding of the screen, for the list of keys."""

_CHART_KEYS: Entries = (("cursor.toggle", "look"), ("lesson.chart", "chart"))
"""Keys in the edge of a panel's chart."""

_VIEW_KEYS: Entries = (("lesson.turn", "view"),)
"""Keys in the edge of a panel's models, or next to `_CHART_KEYS`."""

EDGE_IDS = tuple(ids for ids, _ in (*_CHART_KEYS, *_VIEW_KEYS))
"""Ids of the keys in the edges of a panel, which its footer leaves out."""

SHELL_FOOTER: Entries = (
    ("lesson.pane", "page"),
    ("terminal.previous-host terminal.next-host", "host"),
    ("lesson.type-command", "type next command"),
)
"""Footer while the shell gets the keys."""


CHOICE_FOOTER: Entries = (
    ("lesson.field", "next field"),
    ("lesson.hint", "hint"),
    ("lesson.sureness", "how sure"),
    ("lesson.back", "leave"),
    ("lesson.run", "run"),
    ("lesson.chart", "chart"),
    ("app.keys", "keys"),
)
"""Footer after Enter while a list of choices has the focus; its box explains how to choose."""


_TYPING_FOOTER: Entries = (
    ("lesson.field", "next field"),
    ("lesson.back review.stop", "leave"),
    ("lesson.sureness review.sureness", "how sure"),
)


def edge_keys(screen: Screen[Any], *, chart_only: bool) -> EdgeKeys:
    """Return the enabled keys for the edges of a panel; `chart_only` if key c shows the text."""
    chart, views = (
        tuple((key.keys[0][0], key.word) for key in bindings.footer_entries(screen, wanted))
        for wanted in (_CHART_KEYS, _VIEW_KEYS)
    )
    if chart_only:
        chart = tuple((key, "text" if word == "chart" else word) for key, word in chart)
    return EdgeKeys(chart, views)


def enter_key(box: ActivityBox[Any] | None) -> FooterKey:
    """Return the footer entry of Enter, which comes first while `box` has the focus."""
    label = "lock in" if box and box.activity.locked else box.TYPED if box else "answer"
    return FooterKey((("Enter", "enter"),), label, is_next=True)


def typing_footer(screen: Screen[Any], box: ActivityBox[Any] | None) -> tuple[FooterKey, ...]:
    """Return the footer while a text field of `box` gets the keys."""
    return enter_key(box), *bindings.footer_entries(screen, _TYPING_FOOTER)


def page_footer(
    following: tuple[str, str],
    *,
    chart_only: bool,
    cursor: bool,
    terminal: bool,
    other_terminal: bool,
    playing: bool = False,
    unused: tuple[str, ...] = (),
) -> Entries:
    """Return the footer of a page while no field and no shell gets the keys.

    Args:
        following: ids and label of the next step, which comes first.
        chart_only: the text is hidden, and key c shows it.
        cursor: the chart has a cursor.
        terminal: the page's terminal is open.
        other_terminal: the terminal of a different page is open.
        playing: the figure in view plays.
        unused: ids of keys without a function on this page.
    """
    labels = {"lesson.chart": "text"} if chart_only else {}
    if playing:
        labels["figure.play"] = "pause"
    footer = tuple((ids, labels.get(ids, label)) for ids, label in FOOTER)
    footer = (following, *without(footer, following[0], *unused))
    footer = with_cursor(footer) if cursor else footer
    if other_terminal:
        return ("lesson.end-terminal", "close terminal"), *without(footer, "lesson.terminal")
    if terminal:
        footer = without(footer, "lesson.terminal", "lesson.run", "lesson.repeat")
        return ("lesson.pane", "terminal"), ("lesson.end-terminal", "close"), *footer
    return footer


def without(footer: Entries, *ids: str) -> Entries:
    """Return the footer without the entries of these ids."""
    return tuple(entry for entry in footer if entry[0] not in ids)
