"""Kinds of figures, each in a module; adding a module is all that a new kind takes.

Each module names its kind in KIND.
"""

from __future__ import annotations

import pkgutil
from functools import reduce
from importlib import import_module
from operator import or_
from typing import Any

from tcptutor.figures.figure import Figure

KINDS: tuple[type[Figure], ...] = tuple(
    import_module(f"{__name__}.{module.name}").KIND for module in pkgutil.iter_modules(__path__)
)

ANY_FIGURE: Any = reduce(or_, KINDS)
"""Union of the kinds, for `[[figure]]` in a page's front matter."""
