"""The course's texts as HTML: Markdown for pages, and its marks inside a line for what stands in a box."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import escape

from markdown_it import MarkdownIt

_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")
"""As the app reads them in questions: code, strong, stressed."""
_TAGS = ("code", "strong", "em")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
"""Without pictures: a terminal shows none, and those of a bank come with it."""

_CHART = re.compile(r'(?<=<img src=")chart:([^"]+)(?=")')


def inline(text: str) -> str:
    """What stands on one line of a box."""
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
    """Single line breaks are blanks, empty lines part."""
    return "".join(f"<p>{inline(block)}</p>" for block in re.split(r"\n\s*\n", text.strip()) if block)


def page(text: str) -> str:
    """A page's Markdown. HTML in it is shown, not obeyed."""
    return str(_MARKDOWN.render(text)).strip()


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """With the name of each row in its first cell."""
    top = "".join(f"<th>{escape(cell, quote=False)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{escape(name, quote=False)}</th>"
        + "".join(f"<td>{escape(cell, quote=False)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def chart(name: str, says: str) -> str:
    """A picture that comes with the bank; `says` is for those who cannot see it."""
    return f'<p><img src="chart:{escape(name)}" alt="{escape(says)}"></p>'


def with_charts(text: str, address: Callable[[str], str]) -> str:
    """`text` with the address of each chart in place of its name."""
    return _CHART.sub(lambda found: escape(address(found[1])), text)
