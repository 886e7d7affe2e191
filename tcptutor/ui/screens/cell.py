"""A run of a sweep by itself, over the page that it belongs to."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from tcptutor.ui.screens.stored import StoredScreen


class CellScreen(StoredScreen):
    """As a run from a file; Esc leads back to the curve."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", id="cell.back", tooltip="back to the curve"),
    ]
    FOOTER = (("cell.back", "back to the curve"), *StoredScreen.FOOTER[:-1], ("app.what-if", "what if"))

    def action_back(self) -> None:
        if self.looks:
            self.action_stop_looking()
        else:
            self.dismiss()
