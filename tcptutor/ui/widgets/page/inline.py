"""The little Markdown that stands inside one line: `code`, **strong**, *stressed*."""

from __future__ import annotations

import re

from textual.content import Content

_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")
_STYLES = ("$accent", "bold", "italic")


def inline(text: str) -> Content:
    """`text` with its marks turned into styles. Everything else stands as it is, square brackets too."""
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
