"""The run's side of the screen, in whatever room it has: the chart, the strips under it, the ruler, and why."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import layout, network
from tcptutor.ui.widgets.bench.drawn import DrawnPanel
from tcptutor.ui.widgets.bench.history import History
from tcptutor.ui.widgets.bench.lines import TEXT, Line, paragraph
from tcptutor.ui.widgets.bench.scene import OwnPrediction


class RunPanel(DrawnPanel):
    """Draws one `Live`; told when it moved, it draws at its own pace."""

    def __init__(self) -> None:
        super().__init__()
        self._live: Live | None = None
        self._history: History | None = None
        self._own: OwnPrediction | None = None
        self._experiment: Experiment | None = None
        self._said = ""
        self._view: layout.View = "chart"

    def idle(self, experiment: Experiment, instruction: str) -> None:
        """Nothing was run yet: say what would be, and how to start it."""
        self._live, self._history = None, None
        self._experiment, self._said = experiment, instruction
        self.set_class(False, "-live")
        self.refresh(layout=True)
        self.draw()

    def show(self, live: Live, own: OwnPrediction | None) -> None:
        """Show this run now; nothing when the page was left meanwhile."""
        if not self.is_attached:
            return
        if live is not self._live:
            self._live, self._history = live, History(live.run.experiment.seconds)
            self._view = "chart"
        self._own, self._said = own, ""
        self.set_class(True, "-live")
        self.set_class(live.state == "ended", "-ended")
        self.call_after_refresh(self.pace.now)

    def say(self, text: str) -> None:
        """A word about running, where its state stands."""
        self._said = text
        self.draw()

    def moved(self) -> None:
        """The run on show has new data."""
        if self._live is not None:
            self._said = ""
            seconds = self._live.run.experiment.seconds
            if self._history is not None and self._history.seconds != seconds:
                # One whose end was not known takes longer than the chart was for, or has ended.
                self._history = History(seconds)
        self.pace.ask()

    def turn(self) -> None:
        """The next view: the chart, the table of models, each flow by itself."""
        if self._live is None:
            return
        there = layout.views(self._live)
        at = there.index(self._view) if self._view in there else 0
        self._view = there[(at + 1) % len(there)]
        self.draw()

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if self._live is not None and self._history is not None:
            return None
        if self._experiment is None:
            return []
        drawn = network.drawing(self._experiment)
        instruction = paragraph("", TEXT, self._said, width)
        if height >= len(drawn) + len(instruction) + 2:
            return [*drawn, Line(), Line(), *instruction]
        return [*paragraph("", TEXT, words.experiment_line(self._experiment), width), *instruction]

    def picture(self) -> Callable[[int, int], list[Line]]:
        live, history = self._live, self._history
        assert live is not None
        assert history is not None
        view: layout.View = self._view if self._view in layout.views(live) else "chart"
        return partial(_drawn, live, history, self._own, self._said, view)


def _drawn(
    live: Live,
    history: History,
    own: OwnPrediction | None,
    said: str,
    view: layout.View,
    width: int,
    height: int,
) -> list[Line]:
    """Called in a thread."""
    history.follow(live.run)
    return layout.picture(live, history, own, said, view, width, height)
