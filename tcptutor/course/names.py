"""The names of experiments: `module/name`, of which a module's own files may leave the module out."""

from __future__ import annotations


def qualified_name(module: str, name: str) -> str:
    """The full name of the experiment that a file of `module` calls `name`; no name stays none."""
    return name if not name or "/" in name else f"{module}/{name}"


def short_name(name: str) -> str:
    """The second part of an experiment's full name."""
    return name.rpartition("/")[2]
