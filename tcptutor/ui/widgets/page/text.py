"""The texts of a box: what an entry was told, hints, what else can be done, and Markdown inside one line."""

from __future__ import annotations

import re

from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")
_STYLES = ("$accent", "bold", "italic")


def inline(text: str) -> Content:
    """`text` with `code`, **strong** and *stressed* turned into styles. All else stands as it is, brackets too."""
    parts: list[Content] = []
    end = 0
    for match in _MARKS.finditer(text):
        parts.append(Content(text[end : match.start()]))
        assert match.lastindex is not None
        parts.append(Content.styled(match[match.lastindex], _STYLES[match.lastindex - 1]))
        end = match.end()
    parts.append(Content(text[end:]))
    return Content("").join(parts)


def paragraphs(text: str) -> Content:
    """Several lines of a TOML string as they are meant: single line breaks are blanks, empty lines part."""
    blocks = re.split(r"\n\s*\n", text.strip())
    return Content("\n\n").join([inline(" ".join(block.split())) for block in blocks])


class Feedback(Static):
    """One paragraph under an entry: empty until there is something to say."""

    def __init__(self) -> None:
        super().__init__(classes="line", markup=False)
        self.display = False

    def say(self, content: Content) -> None:
        self.update(content)
        self.display = bool(content)


class Offers(Static):
    """What can be done with an open entry: how it is answered, and the next hint. A click does it."""

    class Chosen(Message):
        """An offer was clicked: "answer", "hint" or "again"."""

        def __init__(self, offer: str) -> None:
            self.offer = offer
            super().__init__()

    def __init__(self) -> None:
        super().__init__(classes="offers", markup=False)

    def show(self, answer: str, hint: str, again: str = "") -> None:
        """The words of each; an empty one is not offered."""
        # The hint first, and so in its place when a click gives the focus and the other appears.
        offers = [("hint", hint), ("answer", answer), ("again", again)]
        parts = [
            Content.styled(words, Style.from_meta({"@click": f"offer('{offer}')"}))
            for offer, words in offers
            if words
        ]
        self.update(Content("   ").join(parts))
        self.display = bool(parts)

    def action_offer(self, offer: str) -> None:
        self.post_message(self.Chosen(offer))


class Hints(Static):
    """The levels asked for so far; nothing when there are none."""

    def __init__(self, hints: tuple[str, ...]) -> None:
        super().__init__(classes="hints", markup=False)
        self.texts = hints
        self.display = False

    def show(self, level: int) -> None:
        """The first `level` hints."""
        total = len(self.texts)
        shown = [
            Content.assemble((f"hint {number} of {total}: ", "bold"), paragraphs(text))
            for number, text in enumerate(self.texts[:level], start=1)
        ]
        self.display = bool(shown)
        self.update(Content("\n").join(shown))
