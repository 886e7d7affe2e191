"""Names of experiments: `module/name`, where a module's own files may omit the module."""

from __future__ import annotations


def qualified_name(module: str, name: str) -> str:
    """Return the full name of the experiment a file of `module` calls `name`; empty stays empty."""
    return name if not name or "/" in name else f"{module}/{name}"


def short_name(name: str) -> str:
    """Return the part of an experiment's full name after the module."""
    return name.rpartition("/")[2]
