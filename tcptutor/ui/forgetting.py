"""Freeing what Textual keeps of pages that are gone."""

from __future__ import annotations

from textual import _styles_cache


def forget_pages() -> None:
    """Free the drawn lines of widgets that are gone.

    Textual remembers two colors for each of its last 1,024 caches of lines, by the cache itself, and so keeps every
    line of the last dozens of pages: 3 MB a page.
    """
    clear = getattr(_styles_cache.StylesCache.get_inner_outer, "cache_clear", None)
    if clear is not None:
        clear()
