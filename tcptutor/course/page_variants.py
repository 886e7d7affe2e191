"""Per-student variants of a page in a graded course.

[variants]                                  # in a page's front matter
loss = ["0.1 %", "0.05 %", "0.2 %"]         # the n-th values of all lists form a variant of the page
rate = ["9.0 Mbit/s", "12.8 Mbit/s", "6.4 Mbit/s"]

Elsewhere on the page `{variant.loss}` inserts the value: in settings, prose and claims. Outside graded courses
everybody gets the first variant. The linter and the claims check every variant.

A page compared with another page's run has as many variants, and sets `same_variant_as = "PAGE"` before its tables: a
student gets the same variant number on both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Lists = Mapping[str, tuple[str, ...]]
"""Values of `[variants]` by name."""

MOST_VARIANTS = 8
_PLACEHOLDER = re.compile(r"\{variant\.([^}\n]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_MARKS = frozenset("\"'\\`{}\n")
"""Characters that could end the string around a value."""


def contradiction(lists: Lists) -> tuple[str, str] | None:
    """Return key and reason of a mistake in the lists, or None."""
    count = len(next(iter(lists.values()), ()))
    for name, values in lists.items():
        if not _NAME.fullmatch(name):
            return f"variants.{name}", "is not a valid name: use lower-case letters, digits and hyphens"
        if len(values) != count:
            return (
                f"variants.{name}",
                f"{len(values)} values, but {count} in the first list: give every list the same length",
            )
        if not 2 <= count <= MOST_VARIANTS:
            return f"variants.{name}", f"{count} values: give 2 to {MOST_VARIANTS}"
        for value in values:
            if _MARKS & set(value):
                return (
                    f"variants.{name}",
                    "a value has a quote, backslash, backquote, brace or line break: remove it",
                )
    return None


def placeholders(text: str) -> Iterator[str]:
    """Yield the names used in `text`."""
    return (match[1] for match in _PLACEHOLDER.finditer(text))


def filled(text: str, lists: Lists, variant: int) -> str:
    """Insert the values of `variant` into `text`; unknown names stay unchanged."""

    def value(match: re.Match[str]) -> str:
        return lists[match[1]][variant] if match[1] in lists else match[0]

    return _PLACEHOLDER.sub(value, text)
