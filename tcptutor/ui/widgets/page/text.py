"""Texts of a box: feedback, hints, offered actions, inline Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from tcptutor.base.columns import wrapped
from tcptutor.course.page_references import REFERENCE, PageReference

_MARKS = re.compile(rf"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|{REFERENCE.pattern}")
_OPENS_PAGE = re.compile(r"app\.open_page\('(.+)'\)")
_STYLES = ("$accent", "bold", "italic")


def inline(text: str) -> Content:
    """Return `text` with `code`, **strong**, *emphasis* and page references styled; other characters are literal."""
    parts: list[Content] = []
    end = 0
    for match in _MARKS.finditer(text):
        parts.append(Content(text[end : match.start()]))
        if match["page"]:
            parts.append(Content.styled(match["words"], link_style(match["page"])))
        else:
            assert match.lastindex is not None
            parts.append(Content.styled(match[match.lastindex], _STYLES[match.lastindex - 1]))
        end = match.end()
    parts.append(Content(text[end:]))
    return Content("").join(parts)


def hanging(prefix: Content, text: str, width: int) -> list[Content]:
    """Return `prefix` and `text` in lines of at most `width` columns, with all of the text right of the prefix."""
    indent = prefix.cell_length
    first, *others = wrapped(text, width - indent) or [""]
    return [prefix + first, *(Content(" " * indent + line) for line in others)]


def link_style(page: str) -> Style:
    """Return the style of a link to the page MODULE/PAGE."""
    return Style.from_meta({"@click": f"app.open_page({page!r})"})


def linked_pages(content: Content) -> Iterator[PageReference]:
    """Yield the page references that `inline` styled in `content`."""
    for span in content.spans:
        click = span.style.meta.get("@click", "") if isinstance(span.style, Style) else ""
        if match := _OPENS_PAGE.fullmatch(click):
            yield PageReference(content.plain[span.start : span.end], "page", match[1])


def paragraphs(text: str) -> Content:
    """Reflow a TOML string: single line breaks become blanks, empty lines separate paragraphs."""
    blocks = re.split(r"\n\s*\n", text.strip())
    return Content("\n\n").join([inline(" ".join(block.split())) for block in blocks])


class Feedback(Static):
    """Paragraph under a response; hidden while empty."""

    def __init__(self) -> None:
        super().__init__(classes="line", markup=False)
        self.display = False

    def show(self, content: Content) -> None:
        self.update(content)
        self.display = bool(content)


class Offers(Static):
    """Actions available for an open activity: responding, the next hint; clickable."""

    class Chosen(Message):
        """An offer was clicked: "answer", "sureness", "hint" or "again"."""

        def __init__(self, offer: str) -> None:
            self.offer = offer
            super().__init__()

    def __init__(self) -> None:
        super().__init__(classes="offers", markup=False)
        self._offered, self._rules = Content(), tuple[str, ...]()

    def show(
        self,
        answer: str,
        hint: str,
        again: str = "",
        sureness: str = "",
        is_stated: bool = False,
        rules: Sequence[str] = (),
    ) -> None:
        """Show the offers that have a text, and the first of `rules` that fits their line.

        A sureness that the student stated is highlighted.
        """
        # The hint comes first: it stays in place when a click moves the focus and adds the other.
        offers = [("hint", hint), ("answer", answer), ("sureness", sureness), ("again", again)]
        parts = [
            Content.styled(words, "bold $accent" if is_stated and offer == "sureness" else "").stylize(
                Style.from_meta({"@click": f"offer('{offer}')"})
            )
            for offer, words in offers
            if words
        ]
        self._offered, self._rules = Content("   ").join(parts), tuple(rules)
        self.display = bool(parts)
        self._draw()

    def on_resize(self) -> None:
        if self._rules:
            self._draw()

    def _draw(self) -> None:
        room = self.size.width - self._offered.cell_length - 3
        rule = next((each for each in self._rules if cell_len(each) <= room), "")
        self.update(self._offered + (f"   {rule}" if rule else ""))

    def action_offer(self, offer: str) -> None:
        self.post_message(self.Chosen(offer))


class Hints(Static):
    """Hints requested so far; hidden before the first request."""

    def __init__(self, hints: tuple[str, ...]) -> None:
        super().__init__(classes="hints", markup=False)
        self.texts = hints
        self.display = False

    def show(self, level: int) -> None:
        """Show the first `level` hints."""
        total = len(self.texts)
        shown = [
            Content.assemble((f"hint {number} of {total}: ", "bold"), paragraphs(text))
            for number, text in enumerate(self.texts[:level], start=1)
        ]
        self.display = bool(shown)
        self.update(Content("\n").join(shown))
