"""Scrolling by a screen: a block that does not fit any more is not cut in two."""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import ScrollableContainer
from textual.geometry import Region
from textual.widget import Widget
from textual.widgets._markdown import MarkdownBlock, MarkdownHeader, MarkdownList

from tcptutor.ui.widgets.page.box import ActivityBox


def next_screen(page: ScrollableContainer) -> float:
    """Return the line at the top of the next screen: it begins with the block that the bottom cuts."""
    height = page.scrollable_content_region.height
    end = page.scroll_y + height
    block = _cut_block(page, end)
    return block.y if block and block.y > page.scroll_y else end


def previous_screen(page: ScrollableContainer) -> float:
    """Return the line at the top of the previous screen: it ends with the block that the top cuts."""
    height = page.scrollable_content_region.height
    block = _cut_block(page, page.scroll_y)
    return (block.bottom if block else page.scroll_y) - height


def _cut_block(page: ScrollableContainer, line: float) -> Region | None:
    """Return the block that begins before `line` and ends after it, in lines of the page; None without any.

    Blocks are paragraphs, list items, figures and boxes with the headings above them, as far as a screen holds them.
    """
    height = page.scrollable_content_region.height
    for part in page.displayed_children:
        region = part.virtual_region
        if region.y < line < region.bottom:
            # `virtual_region` of a part's own children is relative to the part; `region` is as old for all of them.
            moved = region.y - part.region.y
            found = _cut_within(part, line - moved, height)
            return found and found.translate((0, moved))
    return None


def _cut_within(widget: Widget, line: float, height: int) -> Region | None:
    is_block = isinstance(widget, MarkdownBlock | ActivityBox) or not widget.displayed_children
    if is_block and not isinstance(widget, MarkdownList) and widget.region.height <= height:
        return widget.region
    return _cut_among(widget.displayed_children, line, height)


def _cut_among(widgets: Iterable[Widget], line: float, height: int) -> Region | None:
    heading: Region | None = None
    for widget in widgets:
        region = widget.region
        if region.y < line < region.bottom:
            found = _cut_within(widget, line, height)
            if found and heading and found.bottom - heading.y <= height:
                return found.union(heading)
            return found
        heading = region if isinstance(widget, MarkdownHeader) else None
    return None
