"""All readers of files that somebody else may have written: each module here has a tuple `READERS`."""

from __future__ import annotations

import importlib
import pkgutil

from tests.fuzz.reader import Reader


def readers() -> dict[str, Reader]:
    """By their names."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        for reader in importlib.import_module(f"{__name__}.{module.name}").READERS:
            assert reader.name not in found, f"two readers are named {reader.name}"
            found[reader.name] = reader
    return found
