"""The kinds of things a student does, a file each. A file in this folder is all that the course needs of a kind.

Each module lists in TABLES what lesson files hold of it.
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
    # In the order of a page, for pages and for messages; the sort keeps the order of the files otherwise.
    sorted((table for module in _MODULES for table in module.TABLES), key=lambda table: table.stage)
)


def front_matter() -> list[tuple[str, Any, Any]]:
    """Key, type and default of each table that the front matter of a step may have, in the order of a page."""
    kinds: dict[str, list[type[ActivityTable]]] = {}
    for table in TABLES:
        kinds.setdefault(table.table, []).append(table)
    fields = []
    for name, members in kinds.items():
        union: Any = reduce(or_, members)
        many = members[0].many
        fields.append((name, tuple[union, ...] if many else union | None, () if many else None))
    return fields
