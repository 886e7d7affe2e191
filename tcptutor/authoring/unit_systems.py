"""Check that a page keeps to kB and MB, as the app does; KiB and MiB stand next to the same size in kB, MB or bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.authoring.texts import texts_by_key
from tcptutor.base.sizes import decimal
from tcptutor.course.page_references import without_links
from tcptutor.course.quantities import WrittenQuantity, quantities
from tcptutor.course.step import Step

_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_BINARY, _DECIMAL = re.compile(r"[KM]iB$"), re.compile(r"(?:[kM]B|bytes)$")
_APART = 40
"""Most characters between the two numbers of a conversion."""
_ROUNDED = 0.02
"""Relative difference allowed between the two numbers of a conversion."""


def unit_problems(step: Step) -> Iterator[tuple[str, str]]:
    """Yield key and reason of the sizes in KiB or MiB that have no decimal size next to them."""
    for key, text in texts_by_key(step):
        if key == "published" or "iB" not in text:  # documents have units of their own
            continue
        sizes = quantities(_CODE.sub(" ", without_links(text)))
        decimals = [each for each in sizes if _DECIMAL.search(each.text)]
        for size in sizes:
            if _BINARY.search(size.text) and not any(_is_conversion(size, each) for each in decimals):
                yield (
                    key,
                    f"{size.text!r} stands alone, and screens show {decimal(size.value)}:"
                    " write that, or both numbers side by side",
                )


def _is_conversion(one: WrittenQuantity, other: WrittenQuantity) -> bool:
    apart = max(one.start, other.start) - min(one.end, other.end)
    return apart <= _APART and abs(one.value - other.value) <= _ROUNDED * other.value
