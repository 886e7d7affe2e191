"""What a sweep is: what was asked for, and the experiments that came of it."""

from __future__ import annotations

import msgspec

from tcptutor.sweep.grid import Axis


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """What a sweep is; two with the same definition are the same sweep."""

    experiment: str
    scale: str
    settings: dict[str, str]
    axes: tuple[Axis, ...]
    seed: int | None
    backend: str
    clock: str
    cells: int
    digest: str
    """Of all the cells' experiments: it differs when the experiment's file has changed."""

    def difference(self, other: Definition) -> str:
        """The first thing in which `other` differs, as text; empty when nothing does."""
        for name in self.__struct_fields__:
            mine, its = getattr(self, name), getattr(other, name)
            if mine != its:
                if name == "digest":
                    return "the experiment has changed since"
                return f"its {'grid' if name == 'axes' else name} is {_text(mine)}, not {_text(its)}"
        return ""


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={each}" for key, each in value.items()) or "none"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    return str(value)
