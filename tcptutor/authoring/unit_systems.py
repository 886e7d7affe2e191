"""Check that a page keeps to kB and MB, or to KiB and MiB; both only next to each other, as a conversion."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.authoring.texts import texts_by_key
from tcptutor.course.page_references import without_links
from tcptutor.course.quantities import WrittenQuantity, quantities
from tcptutor.course.step import Step

_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_BINARY, _DECIMAL = re.compile(r"[KM]iB$"), re.compile(r"[kM]B$")
_APART = 40
"""Most characters between the two numbers of a conversion."""
_ROUNDED = 0.02
"""Relative difference allowed between the two numbers of a conversion."""


def unit_problems(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and reason of the sizes in KiB or MiB on a page that gives other sizes in kB or MB."""
    binary: list[tuple[str, WrittenQuantity]] = []
    decimal: list[WrittenQuantity] = []
    for key, text in texts_by_key(step):
        if key == "published" or ("iB" not in text and "B" not in text):  # documents have units of their own
            continue
        sizes = quantities(_CODE.sub(" ", without_links(text)))
        binaries = [each for each in sizes if _BINARY.search(each.text)]
        decimals = [each for each in sizes if _DECIMAL.search(each.text)]
        converted = {
            each
            for one in binaries
            for other in decimals
            if _is_conversion(one, other)
            for each in (one, other)
        }
        binary += [(key, each) for each in binaries if each not in converted]
        decimal += [each for each in decimals if each not in converted]
    if binary and decimal:
        key, size = binary[0]
        yield (
            key,
            f"{size.text!r} stands on a page with {decimal[0].text!r}: use one unit system,"
            " or write both numbers side by side once",
        )


def _is_conversion(one: WrittenQuantity, other: WrittenQuantity) -> bool:
    apart = max(one.start, other.start) - min(one.end, other.end)
    return apart <= _APART and abs(one.value - other.value) <= _ROUNDED * other.value
