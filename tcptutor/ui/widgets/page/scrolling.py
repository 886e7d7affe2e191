"""Scrolling of a page to the box that the student works on."""

from __future__ import annotations

from textual.containers import Vertical, VerticalScroll
from textual.message import Message


class ScrollRequested(Message):
    """The box grew or got the focus, and should be fully visible, or its end if it is too long."""

    def __init__(self, box: ScrollingBox, end: bool) -> None:
        self.box, self.end = box, end
        super().__init__()

    def scroll(self, view: VerticalScroll) -> None:
        """Scroll `view`, the parent of the box, as little as needed."""
        box, height, offset = (
            self.box.virtual_region,
            view.scrollable_content_region.height,
            view.scroll_offset.y,
        )
        if not height or not box.height:
            return
        is_too_long = box.height > height
        if is_too_long and self.end:
            target = box.bottom - height
        elif is_too_long or box.y < offset:
            target = box.y
        else:
            target = max(offset, box.bottom - height)
        view.scroll_to(y=target, animate=False)


class ScrollingBox(Vertical):
    """Box that asks for scrolling when it grows or gets the focus."""

    def __init__(self, *, classes: str) -> None:
        super().__init__(classes=classes)
        self._has_new_text = False
        """Whether the end of the box has new text."""

    @property
    def is_active(self) -> bool:
        """Whether the focus is in the box."""
        # Asked from the screen: a widget that is losing the focus still claims to have it.
        focused = self.screen.focused if self.is_attached else None
        return focused is not None and self in focused.ancestors_with_self

    def scroll_into_view(self, end: bool = False) -> None:
        """Request scrolling now and once the new text is laid out."""
        self._has_new_text = end
        self.call_after_refresh(self._request_scroll)

    def on_resize(self) -> None:
        # The new text is laid out only now.
        if self._has_new_text or self.is_active:
            self._request_scroll()

    def _request_scroll(self) -> None:
        self.post_message(ScrollRequested(self, self._has_new_text))
