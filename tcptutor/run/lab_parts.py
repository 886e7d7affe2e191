"""The parts of a lab, and the fingerprint that identifies labs with equal runs.

A part is a name and a value that identifies it: a version, a digest, a command line. A name starts with the
kind of part; parts in EXPLAINING only explain where other parts come from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

IMAGE, PACKAGE, TOOL = "image ", "package ", "tool "
"""Prefixes of the guest's files, of the Debian packages in them, and of the programs that packed them."""
EXPLAINING = (PACKAGE, TOOL)
_DIGESTS = (IMAGE, "firmware", "agent")
_LONGEST = 120
"""Characters of two values that fit on a line."""


class DifferentPart(NamedTuple):
    """A part that differs between two labs."""

    name: str
    here: str
    """Empty if this lab lacks the part."""
    there: str

    def __str__(self) -> str:
        if len(self.here) + len(self.there) > _LONGEST or self.name.startswith(_DIGESTS):
            return f"{self.name}: another one"
        return f"{self.name}: {self.here or 'none'} here, {self.there or 'none'} there"


def fingerprint(parts: Mapping[str, str]) -> str:
    """Return a hash of the parts that influence a run; empty for an unknown lab."""
    deciding = {name: value for name, value in parts.items() if not name.startswith(EXPLAINING)}
    if not deciding:
        return ""
    text = json.dumps(deciding, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[DifferentPart]:
    """List the differences between two labs, explaining parts first."""
    names = {name for name in (*here, *there) if here.get(name) != there.get(name)}
    ordered = sorted(names, key=lambda name: (not name.startswith(EXPLAINING), name))
    return [DifferentPart(name, here.get(name, ""), there.get(name, "")) for name in ordered]
