"""The list of hits of the find box: drawn only where visible, since it changes with every key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tcptutor.study.matching import HEADS, Hit, Span

_INDENT = 2


class _Line(NamedTuple):
    hit: int
    """Index of the hit of the line, or of the first hit below a head."""
    part: int
    """0 for the title, 1 for the sentence below it, -1 for the head of a group."""


class HitList(Widget):
    """Hits under the heads of their groups, with a cursor that the screen moves."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"hits--chosen"}

    class Clicked(Message):
        """A hit was clicked."""

        def __init__(self, number: int) -> None:
            self.number = number
            """Index of the hit."""
            super().__init__()

    def __init__(self) -> None:
        super().__init__(id="find-hits")
        self._hits: Sequence[Hit] = ()
        self._lines: list[_Line] = []
        self._top = 0
        """Index of the first visible line."""
        self.chosen = 0
        """Index of the hit at the cursor."""

    def show(self, hits: Sequence[Hit], chosen: int) -> None:
        """Show `hits`, with the cursor on index `chosen`."""
        self._hits, self._lines, self._top = hits, list(_lines(hits)), 0
        self.move_to(chosen)

    def move_to(self, chosen: int) -> None:
        """Put the cursor on a hit, and scroll to it."""
        self.chosen = chosen
        own = [at for at, line in enumerate(self._lines) if line.hit == chosen]
        if own:
            height = max(1, self.size.height)
            # The head of its group shows too, if it is the line above.
            self._top = min(self._top, own[0])
            self._top = max(self._top, own[-1] - height + 1)
        self.refresh()

    def on_resize(self) -> None:
        self.move_to(self.chosen)

    def render(self) -> Content:
        width, height = self.size.width - 1, self.size.height
        if not self._hits:
            return Content.styled("Nothing found.", "$text-muted")
        ground = self.get_visual_style("hits--chosen")
        thumb = self._thumb(height)
        shown: list[Content] = []
        for y, line in enumerate(self._lines[self._top : self._top + height]):
            text = self._draw(line, width)
            text += " " * (width - text.cell_length)
            if line.hit == self.chosen and line.part >= 0:
                text = text.stylize_before(ground)
            shown.append(text + Content.styled("┃" if y in thumb else " ", "$border"))
        return Content("\n").join(shown)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and (row := self._top + at.y) < len(self._lines) and self._lines[row].part >= 0:
            self.post_message(self.Clicked(self._lines[row].hit))

    def _thumb(self, height: int) -> range:
        """Return the rows of the scroll bar's thumb; empty if the complete list is visible."""
        total = len(self._lines)
        if total <= height:
            return range(0)
        length = max(1, height * height // total)
        start = round((height - length) * self._top / (total - height))
        return range(start, start + length)

    def _draw(self, line: _Line, width: int) -> Content:
        hit = self._hits[line.hit]
        if line.part < 0:
            return Content.styled(HEADS[hit.group], "bold $secondary")
        return _title(hit, width) if line.part == 0 else _sentence(hit, width)


def marked(text: str, spans: Sequence[Span]) -> Content:
    """Return the text with its matches marked."""
    content = Content(text)
    for start, end in spans:
        content = content.stylize("bold underline", start, end)
    return content


def _lines(hits: Sequence[Hit]) -> Iterator[_Line]:
    for at, hit in enumerate(hits):
        if not at or hit.group != hits[at - 1].group:
            yield _Line(at, -1)
        yield _Line(at, 0)
        if hit.about_spans and not hit.is_in_title:
            yield _Line(at, 1)


def _title(hit: Hit, width: int) -> Content:
    """Return the title with its matches on the left, the kind on the right."""
    kind = hit.entry.kind
    title = marked(hit.entry.title, hit.spans)
    title = title.truncate(width - cell_len(kind) - _INDENT - 3, ellipsis=True)
    gap = " " * max(1, width - 1 - _INDENT - title.cell_length - cell_len(kind))
    return Content.assemble(" " * _INDENT, title, gap, (kind, "$text-muted"))


def _sentence(hit: Hit, width: int) -> Content:
    """Return the sentence in a line, cut at its beginning where the match would be off the line."""
    width -= 2 * _INDENT + 1
    first = hit.about_spans[0]
    start = 0 if first[1] < width else hit.about.rfind(" ", 0, max(first[0] - width // 2, 1)) + 1
    spans = [(begin - start, end - start) for begin, end in hit.about_spans if begin >= start]
    line = marked(hit.about[start:], spans).stylize_before("$text-muted")
    cut = "…" if start else ""
    return Content(" " * 2 * _INDENT + cut) + line.truncate(width - len(cut), ellipsis=True)
