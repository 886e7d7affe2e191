"""HTML of the course's texts: Markdown for pages, and inline marks for texts in boxes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from markdown_it import MarkdownIt

_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")
"""Inline marks as the app reads them in questions: code, strong, emphasis."""
_TAGS = ("code", "strong", "em")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
"""CommonMark with tables, without HTML and images: a terminal shows no images, and a bank adds its own."""

_CHART = re.compile(r'(?<=<img src=")chart:([^"]+)(?=")')


def inline(text: str) -> str:
    """Render inline marks and collapse white space."""
    parts, end = [], 0
    for match in _MARKS.finditer(text):
        assert match.lastindex is not None
        tag = _TAGS[match.lastindex - 1]
        parts += [
            escape(text[end : match.start()], quote=False),
            f"<{tag}>{escape(match[match.lastindex], quote=False)}</{tag}>",
        ]
        end = match.end()
    return " ".join("".join([*parts, escape(text[end:], quote=False)]).split())


def paragraphs(text: str) -> str:
    """Render paragraphs separated by empty lines; a single line break is a space."""
    return "".join(f"<p>{inline(block)}</p>" for block in re.split(r"\n\s*\n", text.strip()) if block)


def page(text: str) -> str:
    """Render a page's Markdown. HTML in it is escaped."""
    return str(_MARKDOWN.render(text)).strip()


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render a table; the first cell of each row is its name."""
    top = "".join(f"<th>{escape(cell, quote=False)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{escape(name, quote=False)}</th>"
        + "".join(f"<td>{escape(cell, quote=False)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def chart(name: str, description: str) -> str:
    """Render a reference to a chart of the bank, with `description` for readers who cannot see it."""
    return f'<p><img src="chart:{escape(name)}" alt="{escape(description)}"></p>'


def with_charts(text: str, address: Callable[[str], str]) -> str:
    """Replace the name of each chart in `text` by its address."""
    return _CHART.sub(lambda found: escape(address(found[1])), text)
