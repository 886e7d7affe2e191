"""Kinds of activities, each in a module; adding a module is all that a new kind takes.

Each module lists its lesson-file tables in TABLES.
"""

from __future__ import annotations

import pkgutil
from functools import reduce
from importlib import import_module
from operator import or_
from typing import Any

from tcptutor.course.activity import ActivityTable

_MODULES = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]

TABLES: tuple[type[ActivityTable], ...] = tuple(
    # In page order; the stable sort keeps the file order within a stage.
    sorted((table for module in _MODULES for table in module.TABLES), key=lambda table: table.stage)
)


def front_matter() -> list[tuple[str, Any, Any]]:
    """Return key, type and default of each front-matter table of a step, in page order."""
    kinds: dict[str, list[type[ActivityTable]]] = {}
    for table in TABLES:
        kinds.setdefault(table.table, []).append(table)
    fields = []
    for name, members in kinds.items():
        union: Any = reduce(or_, members)
        many = members[0].many
        fields.append((name, tuple[union, ...] if many else union | None, () if many else None))
    return fields
