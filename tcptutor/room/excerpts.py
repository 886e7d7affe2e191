"""Short excerpts of a page's Markdown for a slide."""

from __future__ import annotations

import re

from tcptutor.course.page_references import without_links

MOST_CHARACTERS = 170
"""Longest line on a slide: six rows of letters three cells high on a terminal of 120 columns."""
MOST_LINES = 10
"""Longest list, table or code on a slide."""

_EMPHASIS = re.compile(r"(?<![\w*])(\*{1,2})(?=\S)(.+?)(?<=\S)\1(?![\w*])", re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()\s]*\)")
_SENTENCE_END = re.compile(r"""(?<=[.?!])["”')*]*\s+(?=[A-Z0-9"“*(\[])""")
_ENDED = re.compile(r"""[.?!]["”')]*$""")
_BLOCK = re.compile(r"^\s*(?:[|#>`]|[-*+] |\d+[.)] |\s{4})", re.MULTILINE)
"""Start of a table, a heading, a quotation, code or a list."""


def plain(markdown: str) -> str:
    """Return a line or paragraph of Markdown as a single line of plain text."""
    text = _LINK.sub(r"\1", without_links(markdown))
    return " ".join(_EMPHASIS.sub(r"\2", text).replace("`", "").split())


def first_sentences(markdown: str, most: int = MOST_CHARACTERS) -> str:
    """Return the first sentences of a text, as many as fit in `most` characters and at least the first.

    A sentence that announces a list or a table is left out. A text that begins with a block gives an empty string.
    """
    paragraph = without_links(markdown).strip().split("\n\n")[0]
    if _BLOCK.match(paragraph):
        return ""
    text = ""
    for sentence in _sentences(plain(paragraph)):
        longer = f"{text} {sentence}".strip()
        if not _ENDED.search(sentence) or (text and len(longer) > most):
            break
        text = longer
    return text


def first_block(markdown: str) -> str:
    """Return the list, table or code at the start of a text, with the sentence that announces it.

    A text without a block at its start, or with a block of more than MOST_LINES lines, gives an empty string.
    """
    blocks = without_links(markdown).strip().split("\n\n")
    announced = 1 if not _BLOCK.match(blocks[0]) else 0
    if len(blocks) <= announced or not _BLOCK.match(blocks[announced]):
        return ""
    shown = "\n\n".join(blocks[: announced + 1])
    return shown if len(shown.splitlines()) <= MOST_LINES else ""


def _sentences(text: str) -> list[str]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    starts = [0, *ends]
    return [text[start:end].strip() for start, end in zip(starts, [*ends, len(text)], strict=True)]
