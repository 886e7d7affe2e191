"""Widget of a network, which follows the kernel while a session is open."""

from __future__ import annotations

from tcptutor.figures.kinds.network import NetworkFigure
from tcptutor.ui.widgets.prose.figure import FigureView


class NetworkView(FigureView):
    """A network of a page."""

    def __init__(self, planned: NetworkFigure) -> None:
        super().__init__(planned)
        self.planned = planned
        """The network without a session."""

    @property
    def is_of_page(self) -> bool:
        """True if the figure shows the page's own network, not only names or a different experiment's network."""
        return self.planned.experiment == ""

    def show_network(self, network: NetworkFigure | None) -> None:
        """Show a state of the network; None for the planned state."""
        network = network or self.planned
        if network != self.figure:
            self.figure = network
            self._drawn_width = 0
            self.refresh(layout=True)
