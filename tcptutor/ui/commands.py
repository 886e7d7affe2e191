"""What the command palette offers: every module, what the page can do, the themes, leaving."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand
from textual.screen import Screen

from tcptutor.ui import keys
from tcptutor.ui.themes import DARK, LIGHT

if TYPE_CHECKING:
    from tcptutor.ui.app import TutorApp


def of(app: TutorApp, screen: Screen[object]) -> Iterator[SystemCommand]:
    """The commands that make sense on `screen`."""
    for key in keys.working(screen).values():
        if key.id.startswith(("lesson.", "app.")) and key.id not in ("app.commands", "app.quit-anywhere"):
            action = next(
                active.binding.action
                for active in screen.active_bindings.values()
                if active.binding.id == key.id
            )
            run = partial(screen.run_action if key.id.startswith("lesson.") else app.run_action, action)
            yield SystemCommand(key.short.capitalize(), f"{key.long} ({' or '.join(key.keys)})", run)
    for module in app.course.modules:
        text = "; ".join(module.objectives) or "open this module"
        yield SystemCommand(
            f"Go to {module.number} {module.title}", text, partial(app.open_module, module.id)
        )
    for theme in (DARK, LIGHT):
        name = "Dark" if theme.dark else "Light"
        yield SystemCommand(f"{name} colours", "high contrast", partial(setattr, app, "theme", theme.name))
