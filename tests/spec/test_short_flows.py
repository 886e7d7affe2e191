"""Short flows that arrive at random: reproducible, with the asked rate, load and sizes."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest

from tcptutor import spec
from tcptutor.base.errors import ParameterError
from tcptutor.spec.short_flows import arrivals


def build(seed: int = 1, **parameters: str) -> spec.Experiment:
    return spec.build("m/e", {"parameters": {"rate": "20 Mbit/s", "warmup": "0", **parameters}, "seed": seed})


def test_a_seed_gives_the_same_flows_and_another_seed_others() -> None:
    asked = {"short_arrivals": "10", "short_sizes": "pareto", "pairs": "2"}
    assert arrivals(build(**asked)) == arrivals(build(**asked))
    assert arrivals(build(**asked)) != arrivals(build(seed=2, **asked))
    assert {arrival.pair for arrival in arrivals(build(**asked))} == {0, 1}


def test_they_arrive_like_a_poisson_process() -> None:
    """Gaps between arrivals have the mean of the rate, and a deviation as large as the mean."""
    found = arrivals(build(short_arrivals="5", duration="300 s"))
    gaps = [later.at - earlier.at for earlier, later in pairwise(found)]
    mean = sum(gaps) / len(gaps)
    deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps) / len(gaps))
    assert mean == pytest.approx(1 / 5, rel=0.08)
    assert deviation == pytest.approx(mean, rel=0.1)


@pytest.mark.parametrize("sizes", ["fixed", "exponential", "pareto"])
def test_a_load_is_that_share_of_the_link(sizes: str) -> None:
    found = arrivals(build(short_load="20 %", short_size="50 kB", short_sizes=sizes, duration="100 s"))
    payload = 8 * sum(arrival.bytes for arrival in found) / 100
    assert payload / (20e6 * 1448 / 1514) == pytest.approx(0.2, rel=0.2)
    assert (len({arrival.bytes for arrival in found}) == 1) == (sizes == "fixed")


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"short_arrivals": "5", "short_load": "10 %"}, "omit short_arrivals or short_load"),
        ({"rate": "none", "short_load": "10 %"}, "without a rate"),
        ({"short_arrivals": "150", "duration": "60 s"}, "about 9000 short flows in this run, at most 2000"),
        ({"short_load": "99 %"}, "0.1 % to 90 %"),
        ({"messages": "1 kB", "requests": "1 kB"}, "each flow has one of them"),
        ({"requests": "1 kB", "bytes": "1 MB"}, "omit bytes or requests"),
        ({"on_times": "1 s", "bytes": "1 MB"}, "omit bytes or on_times"),
        ({"on_times": "1 s, 2 s"}, "2 values for 1 flows"),
        ({"changes": "1 s mtu=1600"}, "at most 1500"),
        ({"changes": "1 s algorithm=cubi"}, "did you mean cubic"),
        ({"changes": "1 s mtu=900", "streams": "0", "udp_streams": "1"}, "there is no TCP flow"),
    ],
)
def test_what_contradicts_is_refused(parameters: dict[str, str], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        build(**parameters)


def test_changes_of_the_hosts_are_written_as_they_are_read() -> None:
    made = build(changes="2 s mtu=900; 3 s algorithm=bbr")
    assert spec.settings(made)["changes"] == "2 s mtu=900; 3 s algorithm=bbr"
    assert [made.at(t).hosts.mtu for t in (0.0, 2.0, 3.0)] == [1500, 900, 900]
    assert [made.at(t).algorithm(0) for t in (0.0, 2.0, 3.0)] == ["cubic", "cubic", "bbr"]
    assert made.congestion_controls == ("cubic", "bbr")
