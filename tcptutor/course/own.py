"""Pages on which each student of a course that grades has settings of their own.

[own]                                       # in a page's front matter
loss = ["0.1 %", "0.05 %", "0.2 %"]         # the n-th of all lists go together: a variant of the page
rate = ["9.0 Mbit/s", "12.8 Mbit/s", "6.4 Mbit/s"]

Anywhere else on the page `{own.loss}` stands for one of them: in settings, in prose, in claims. The first of each is
the page's own, for everybody who is in no such course. The linter and the claims look at every variant.

A page whose run stands beside another page's has as many variants, and `own_as = "PAGE"` before its tables: who has the
n-th there has the n-th here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tcptutor.base.printable import is_printable

Own = Mapping[str, tuple[str, ...]]
"""`[own]`"""

MOST_VARIANTS = 8
_PLACEHOLDER = re.compile(r"\{own\.([^}\n]*)\}")
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LONGEST = 200
_MARKS = frozenset("\"'\\`{}")
"""Characters that could end the text in which a value stands."""


def contradiction(own: Own) -> tuple[str, str] | None:
    """The key and the reason of what is wrong with the lists; None when all can be filled in."""
    count = len(next(iter(own.values()), ()))
    for name, values in own.items():
        if not _NAME.fullmatch(name):
            return f"own.{name}", "is no name: small letters, digits and hyphens"
        if len(values) != count:
            return f"own.{name}", f"{len(values)} values, and {count} in the first list: the n-th go together"
        if not 2 <= count <= MOST_VARIANTS:
            return f"own.{name}", f"{count} values: give 2 to {MOST_VARIANTS}"
        for value in values:
            if len(value) > _LONGEST or not is_printable(value) or _MARKS & set(value):
                return f"own.{name}", f"a value is too long, or has one of {' '.join(sorted(_MARKS))}"
    return None


def placeholders(text: str) -> Iterator[str]:
    """The names that stand in it, as they are written."""
    return (match[1] for match in _PLACEHOLDER.finditer(text))


def filled(text: str, own: Own, variant: int) -> str:
    """`text` with that variant's values; a name that is in no list stays as it is."""

    def value(match: re.Match[str]) -> str:
        return own[match[1]][variant] if match[1] in own else match[0]

    return _PLACEHOLDER.sub(value, text)
