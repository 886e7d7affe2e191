"""A run of a sweep by itself, over the page that it belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType

from tcptutor.run import Run
from tcptutor.ui.screens.looking import LookingScreen
from tcptutor.ui.screens.stored import StoredScreen


class CellScreen(StoredScreen):
    """As a run from a file; Esc leads back to the curve."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", id="cell.back", tooltip="back to the curve"),
    ]
    FOOTER = (("cell.back", "back to the curve"), *StoredScreen.FOOTER[:-1], ("app.what-if", "what if"))

    def run_file(self, run: Run) -> Path | None:
        return LookingScreen.run_file(self, run)

    def action_back(self) -> None:
        if self.looks:
            self.action_stop_looking()
        else:
            self.dismiss()
