"""Figures that a page attributes to a source: each is in assets/published, claimed, or a setting of the page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tcptutor.authoring.claim_problems import PUBLISHED_MARK, claimed_spans, same_quantity
from tcptutor.authoring.claims import in_one_line
from tcptutor.course.claim import Claim
from tcptutor.course.published import document_names, document_numbers
from tcptutor.course.quantities import WrittenQuantity, quantities

_SENTENCE = re.compile(r"(?<=[.!?:])\s+(?=[A-Z*(\"“])|(?<=;)\s+")
_BARE = re.compile(r"(?<![\d,.])(?:\d{1,3}(?:,\d{3})+|\d+\.\d+|(?!(?:19|20)\d\d\b)\d{3,})(?![\d,.]*\d)")
"""Numbers without a unit that count as figures: 1,890, 0.83588 and 941, but no year."""
_LABEL = re.compile(r"(?:sections?|figures?|tables?|equation|Linux|iperf3|version|RFC|and|to|C =|MTU)\s*\(?$")
"""Words in front of numbers that are no figures."""
_HAIR = 1e-6
"""Relative slack for binary rounding."""


_NUMBER = re.compile(r"[\d,]+(?:\.(\d+))?")


class QuotedFigure(NamedTuple):
    """Number in a text."""

    start: int
    text: str
    values: tuple[float, ...]
    """As written, in the base unit, or in units of a thousand, a million or a billion."""
    quantity: WrittenQuantity | None = None

    @property
    def rounding(self) -> float:
        """Half a unit of the last written decimal, as a share of the number."""
        number = _NUMBER.search(self.text)
        assert number is not None
        written = float(number[0].replace(",", ""))
        return 0.5 * 10.0 ** -len(number[1] or "") / written if written else 0.0

    def is_setting(self, setting: WrittenQuantity) -> bool:
        """Return True if it is the setting, or its number in bytes."""
        if self.quantity:
            return same_quantity(self.quantity, setting)
        return setting.kind == "size" and setting.value == self.values[0]


def unsupported(
    key: str, text: str, claims: Iterable[Claim], settings: Iterable[WrittenQuantity]
) -> Iterator[str]:
    """Yield the reasons that figures in `text` are attributed to a source that does not have them."""
    if key.endswith(".text") or not _named(text):  # choices and goals are about the student's own lab
        return
    given, known = list(settings), list(claims)
    for paragraph in text.split("\n\n"):
        own = in_one_line(paragraph)
        covered = claimed_spans(own, known)
        whole = key == "published" or paragraph.startswith(PUBLISHED_MARK)
        for start, sentence in [(0, own)] if whole else _sentences(paragraph):
            named = _named(text if key == "published" else sentence)
            for figure in _figures(sentence) if named else ():
                if any(start + figure.start in span for span in covered):
                    continue
                if any(figure.is_setting(each) for each in given):
                    continue
                if not any(_has(document, figure) for document in named):
                    yield f"{figure.text!r} is not in {' or '.join(named)} of assets/published: add it, or a [[claim]]"


def _sentences(paragraph: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a paragraph or the rows of a table, and where each starts in one line."""
    text = in_one_line(paragraph)
    if paragraph.startswith("|"):
        ends = [match.start() for match in re.finditer(r"(?<=\|) (?=\|)", text)]
    else:
        ends = [match.end() for match in _SENTENCE.finditer(text)]
    start = 0
    for end in (*ends, len(text)):
        yield start, text[start:end]
        start = end


def _named(text: str) -> list[str]:
    """Return the documents that `text` names."""
    return [document for document, names in document_names().items() if any(name in text for name in names)]


def _figures(text: str) -> Iterator[QuotedFigure]:
    found = quantities(text)
    for each in found:
        number = float(re.sub(r"[^\d.]", "", each.text.split()[0].rstrip("*")) or 0)
        yield QuotedFigure(each.start, each.text, (each.value, number), each)
    spans = [range(each.start, each.end) for each in found]
    for match in _BARE.finditer(text):
        if not any(match.start() in span for span in spans) and not _LABEL.search(text[: match.start()]):
            number = float(match[0].replace(",", ""))
            yield QuotedFigure(match.start(), match[0], tuple(number * scale for scale in (1, 1e3, 1e6, 1e9)))


def _has(document: str, figure: QuotedFigure) -> bool:
    return any(
        abs(number - value) <= (figure.rounding + _HAIR) * abs(value)
        for value in figure.values
        for number in document_numbers(document)
    )
