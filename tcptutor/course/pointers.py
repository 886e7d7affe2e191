"""Phrases that refer to the app, a page or the student's run, which a question outside the course lacks.

Feedback and prose may point at the screen in sentences of their own, which exports leave out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tcptutor.course.figure_places import is_place


class Pointer(NamedTuple):
    """A kind of phrase that makes no sense outside the app."""

    phrase: re.Pattern[str]
    reason: str


_RUN = Pointer(
    re.compile(
        r"\b[Yy]our (?:own |first |last |other )?(?:run|sweep|chart|curve|point|result|prediction)s?\b"
        r"|\b[Yy]ou (?:measured|predicted|saw|have seen)\b|\b[Yy]ou've seen\b|\bYou measure "
        r"|\b[Cc]ommit to\b"
    ),
    "speaks of the student's own run or prediction: write “the run”",
)
_PAGE = Pointer(
    re.compile(
        r"\b(?:[Tt]his|[Tt]hat|[Tt]hese|the (?:previous|next|last|other)|earlier|later|deeper|other|most|many) pages?\b"
        r"|\bthe page before\b|\bThe pages point\b|\[“|\b(?:this|that|the (?:first|second|third|last)) module\b"
        r"|\b[Mm]odule \d|\bthe question (?:on|about|before|above)\b"
    ),
    "names a page or a module: say what it says",
)
_APP = Pointer(
    re.compile(
        r"\btcptutor\b|--set\b|\b(?:the|these) hints\b|\b[Pp]ress `|`[a-z]` (?:draws|shows|opens)\b"
        r"|\b[Tt]he (?:strips?|verdict|row of losses)\b|\bthe strip of\b"
    ),
    "names a part of the app or a command of tcptutor: say it without",
)
_TASK = Pointer(
    re.compile(
        r"^\(?(?:Now |Then |And )?(?:[Pp]redict|[Gg]uess|[Tt]ry it)\b(?![:,])|\bDuring the run, watch\b"
    ),
    "asks to do something in the app: ask the question",
)
_SHOWN = Pointer(
    re.compile(
        r"\b[Tt]he (?:drawing|picture|chart|table)\b(?! of a web)|\b(?:rows|row) of the (?:drawing|table)\b"
        r"|\b(?:output|list|text|formulas|examples?) (?:above|below)\b"
        r"|\b(?:first|second|third|last|upper|lower) (?:row|item)s?\b|\bin both pictures\b"
    ),
    "points at a drawing or table, which is not exported with it: say what it shows",
)
_CHART = Pointer(
    re.compile(r"\b[Tt]he chart\b|\byours\b"),
    "points at the chart of a sweep, which is exported as a table: say what it shows",
)
EVERYWHERE = (_RUN, _PAGE, _APP, _TASK)
"""Kinds of phrases that no export has."""
SWEPT = (*EVERYWHERE, _CHART)
"""Kinds of phrases in the text of a page with a sweep."""
ALONE = (*EVERYWHERE, _SHOWN)
"""Kinds of phrases to reject in a question without its page, which also lacks the page's drawings."""

_SENTENCE_END = re.compile(r"(?<=[.!?])[)”\"*]*\s+(?=[\"“(*`\[]*[A-Z0-9`])|\n(?=[-*] |\d+\. )")
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


def find_pointers(text: str, kinds: tuple[Pointer, ...]) -> Iterator[tuple[str, str]]:
    """Yield each such phrase of a text with page links, and the reason why an export cannot have it."""
    for _, sentence in _sentences(" ".join(text.split())):
        for kind in kinds:
            if found := kind.phrase.search(sentence):
                yield found[0], kind.reason


def without_pointers(text: str, kinds: tuple[Pointer, ...]) -> str:
    """Leave out the sentences with such phrases from Markdown with page links; code, tables and figures stay."""
    blocks, in_code = [], False
    for block in re.split(r"\n[ \t]*\n", text):
        kept = block
        if (
            not in_code
            and not _FENCE.search(block)
            and not block.lstrip().startswith("|")
            and not is_place(block)
        ):
            kept = _kept_sentences(block, kinds)
        in_code ^= len(_FENCE.findall(block)) % 2 == 1
        blocks.append(kept)
    return "\n\n".join(block for block in blocks if block.strip())


def _kept_sentences(block: str, kinds: tuple[Pointer, ...]) -> str:
    kept = [
        (before, sentence)
        for before, sentence in _sentences(block)
        if not any(kind.phrase.search(" ".join(sentence.split())) for kind in kinds)
    ]
    return "".join(before + sentence for before, sentence in kept).lstrip()


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences with the blank space before each; a list's entry ends a sentence, too."""
    start, space = 0, ""
    for end in _SENTENCE_END.finditer(text):
        stop = end.end() - len(end[0]) + len(end[0].rstrip())
        yield space, text[start:stop]
        start, space = end.end(), text[stop : end.end()]
    yield space, text[start:]
