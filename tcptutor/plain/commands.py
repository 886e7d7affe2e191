"""Commands of the dialogue: names, aliases and descriptions."""

from __future__ import annotations

from typing import NamedTuple

COMMANDS = {
    "help": "what you can type here; help COMMAND explains one",
    "again": "ask the same again",
    "read": "read the whole page again",
    "hint": "the next hint",
    "run": "run the page's experiment, sweep or challenge",
    "repeat": "run with the same seed once more",
    "skip": "go on without a prediction, or without saying what the run showed",
    "undo": "change a locked prediction, before the run",
    "new": "ask an answered question with new numbers",
    "next": "pass over this; on a finished page, the next page",
    "back": "the page before",
    "deeper": "the deeper page that follows here",
    "home": "the list of modules",
    "where": "where you are and what is left on this page",
    "pages": "the pages of this module and their state",
    "go": "go to a page by its number, such as go 1.3",
    "find": "search titles, terms and texts, such as find slow start",
    "term": "explain a term, such as term RTT",
    "note": "your note on this page; note TEXT adds to it, note - deletes it",
    "answers": "your answers on this page with their feedback",
    "result": "the result of the run once more",
    "chart": "how the run went: cwnd, losses, RTT, throughput, queue",
    "at": "what held at an instant of the run, such as at 2.5 s, or at 2.5 s flow 3",
    "flows": "the figures of each flow",
    "models": "the formula of each model with the numbers of the run",
    "others": "what others measured",
    "terminal": "open the lab's shell here, on a page by hand; terminal h2 opens it on h2",
    "review": "the questions that are due for review",
    "path": "choose the pages of your path: path essential, or path everything",
    "marks": "how work is marked",
    "width": "break lines at so many columns; width 0 breaks none",
    "quit": "leave; everything is saved",
}
"""Commands with their descriptions."""
_SHORT = {
    "?": "help", "h": "hint", "r": "run", "n": "next", "b": "back", "q": "quit", "exit": "quit", "t": "terminal",
    "x": "skip", "u": "undo", "search": "find", "next page": "next", "modules": "home", "stop": "quit", "/": "find",
    "w": "where", "shell": "terminal",
}  # fmt: skip
"""Aliases; some are keys of the app that lesson texts mention."""
_WITH_WORDS = {"help", "go", "find", "term", "note", "at", "path", "width", "terminal"}
"""Commands that take arguments; after any other command, extra words make the line an answer."""
PAGE_HELP = tuple(each for each in COMMANDS if each not in ("path", "marks"))
HOME_HELP = ("go", "find", "term", "review", "path", "marks", "where", "width", "quit")


class Command(NamedTuple):
    """Command with its arguments."""

    name: str
    words: str


def parse(line: str) -> Command | None:
    """Parse a line as a command; return None for an answer or an empty line."""
    first, _, words = line.strip().partition(" ")
    if first.startswith("/") and len(first) > 1:
        first, words = "/", f"{first[1:]} {words}".strip()
    name = _SHORT.get(first.lower(), first.lower())
    if name not in COMMANDS or (words and name not in _WITH_WORDS):
        return None
    return Command(name, words.strip())
