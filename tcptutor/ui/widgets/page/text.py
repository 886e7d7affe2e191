"""The texts of a box: what an entry was told, hints, and the little Markdown that stands inside one line."""

from __future__ import annotations

import re

from textual.content import Content
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
    """One paragraph under an entry: empty until there is something to say, and then in view."""

    def __init__(self) -> None:
        super().__init__(classes="line", markup=False)
        self.display = False
        self._go_there = False

    def say(self, content: Content, go_there: bool = True) -> None:
        """Show it; `go_there` scrolls the page so that it can be read."""
        self.update(content)
        if go_there:
            # One that is already there can be scrolled to now; a new one has no place before the next layout.
            self._go_there = not self.display
            self.call_after_refresh(self.scroll_visible, animate=False)
        self.display = True

    def on_resize(self) -> None:
        if self._go_there and self.size.height:
            self._go_there = False
            self.scroll_visible(animate=False)


class Hints(Static):
    """The levels asked for so far; nothing when there are none."""

    def __init__(self, hints: tuple[str, ...]) -> None:
        super().__init__(classes="hints", markup=False)
        self._hints = hints
        self.display = False

    def show(self, level: int) -> None:
        """The first `level` hints."""
        total = len(self._hints)
        shown = [
            Content.assemble((f"hint {number} of {total}: ", "bold"), paragraphs(text))
            for number, text in enumerate(self._hints[:level], start=1)
        ]
        self.display = bool(shown)
        self.update(Content("\n").join(shown))
