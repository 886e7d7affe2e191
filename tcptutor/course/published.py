"""The published figures that lessons set beside ours: assets/published/DOCUMENT.toml."""

from __future__ import annotations

import tomllib
from functools import cache

from tcptutor import places


@cache
def documents() -> dict[str, frozenset[str]]:
    """The names of each document's results, by document. A document may have none with a name."""
    found: dict[str, frozenset[str]] = {}
    for path in sorted((places.assets() / "published").glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        results = table.get("result", [])
        found[path.stem] = frozenset(result["name"] for result in results if "name" in result)
    return found


def unresolved(source: str) -> str:
    """Why `source`, "document" or "document: result", leads nowhere; empty when it does not."""
    document, _, result = (part.strip() for part in source.partition(":"))
    if document not in documents():
        return f"no document {document!r} in assets/published: there are {', '.join(documents())}"
    if result and result not in documents()[document]:
        return f"{document} has no result {result!r}"
    return ""
