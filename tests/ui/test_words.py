"""What stands on the screen in words."""

from __future__ import annotations

import pytest

from tcptutor.spec import Experiment, Flows
from tcptutor.ui import words


@pytest.mark.parametrize(
    ("tcp", "udp", "pairs", "line"),
    [
        (8, 0, 1, "h1 → h2, 8 flows"),
        (1, 0, 1, "h1 → h2, 1 flow"),
        (0, 1, 1, "h1 → h2, 1 UDP flow"),
        (0, 2, 2, "2 pairs, 4 UDP flows"),
        (1, 1, 1, "h1 → h2, 1 TCP flow, 1 UDP flow"),
    ],
)
def test_who_sends_is_told_with_udp(tcp: int, udp: int, pairs: int, line: str) -> None:
    experiment = Experiment(name="flows", pairs=pairs, flows=Flows(streams=tcp, udp_streams=udp))
    assert words.flows_line(experiment) == line


def test_no_algorithm_is_named_where_only_udp_is_sent() -> None:
    for tcp, udp, first in ((0, 1, "UDP"), (1, 0, "CUBIC"), (1, 1, "CUBIC")):
        experiment = Experiment(name="flows", flows=Flows(streams=tcp, udp_streams=udp))
        assert words.experiment_line(experiment).split(" · ")[0] == first
