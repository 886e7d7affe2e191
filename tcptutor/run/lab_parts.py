"""What a lab is made of, part by part, and the fingerprint by which labs with equal runs are known.

A part is a name and what tells it from others: a version, a digest, a command line. The names begin with what kind of
part it is; those of EXPLAINING only say where other parts come from.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

IMAGE, PACKAGE, TOOL = "image ", "package ", "tool "
"""How the names begin of the guest's files, of Debian's packages in them, and of the programs that packed these."""
EXPLAINING = (PACKAGE, TOOL)
_DIGESTS = (IMAGE, "firmware", "agent")
_LONGEST = 120
"""Characters of two values that stand in one line."""


class DifferentPart(NamedTuple):
    """A part that is not the same in two labs."""

    name: str
    here: str
    """Empty where this lab has none."""
    there: str

    def __str__(self) -> str:
        if len(self.here) + len(self.there) > _LONGEST or self.name.startswith(_DIGESTS):
            return f"{self.name}: another one"
        return f"{self.name}: {self.here or 'none'} here, {self.there or 'none'} there"


def fingerprint(parts: Mapping[str, str]) -> str:
    """Equal where all is equal that decides what a run gives; empty where nothing is known of the lab."""
    deciding = {name: value for name, value in parts.items() if not name.startswith(EXPLAINING)}
    if not deciding:
        return ""
    text = json.dumps(deciding, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[DifferentPart]:
    """Where two labs differ; what explains it first."""
    names = {name for name in (*here, *there) if here.get(name) != there.get(name)}
    ordered = sorted(names, key=lambda name: (not name.startswith(EXPLAINING), name))
    return [DifferentPart(name, here.get(name, ""), there.get(name, "")) for name in ordered]
