"""What stands on the screen in words."""

from __future__ import annotations

import pytest

from tcptutor.course.setting_line import experiment_line
from tcptutor.spec import Experiment, Flows, Hosts, Path
from tcptutor.study import words


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


@pytest.mark.parametrize(
    ("algorithms", "streams", "udp", "told"),
    [
        ((), 1, 0, "Reno"),
        (("cubic", "bbr"), 2, 0, "CUBIC + BBR"),
        (("cubic", "bbr"), 1, 0, "CUBIC"),
        ((), 0, 1, "UDP"),
        ((), 1, 1, "Reno + UDP"),
    ],
)
def test_the_setup_names_all_that_sends(
    algorithms: tuple[str, ...], streams: int, udp: int, told: str
) -> None:
    hosts, flows = Hosts(algorithm="reno", algorithms=algorithms), Flows(streams=streams, udp_streams=udp)
    experiment = Experiment(name="x", hosts=hosts, flows=flows, path=Path(rate=1e7, loss=0.009, loss_burst=3))
    parts = experiment_line(experiment).split(" · ")
    assert parts[0] == told
    assert "loss 0.9 %, 3 in a row" in parts


@pytest.mark.parametrize(
    ("streams", "pairs", "loss", "drawn"),
    [(1, 1, 0.0, ""), (1, 1, 0.01, "losses"), (2, 1, 0.0, "chances"), (1, 2, 0.0, "chances")],
)
def test_the_seed_decides_which_of_several_flows_a_full_queue_drops(
    streams: int, pairs: int, loss: float, drawn: str
) -> None:
    experiment = Experiment(
        name="x", pairs=pairs, flows=Flows(streams=streams), path=Path(rate=1e7, loss=loss)
    )
    assert words.drawn_by_chance(experiment) == drawn
