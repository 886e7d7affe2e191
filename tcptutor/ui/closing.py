"""Screens whose workers end before their widgets are removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widget import Widget

if TYPE_CHECKING:
    from textual.await_remove import AwaitRemove


class WorkersEndFirst(Widget):
    """Mixin of screens with workers: cancels the screen's workers and its widgets' before the screen is removed.

    Textual stops a widget's workers only after removing its children, so a worker may query a removed child.
    """

    def remove(self) -> AwaitRemove:
        """Cancel the workers and remove the screen."""
        for node in self.walk_children(Widget, with_self=True):
            self.workers.cancel_node(node)
        return super().remove()
