"""Networks: every interface is named where it is, with what is set there, planned or as the kernel reports it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tcptutor.figures.kinds.network import InterfaceNote, NetworkFigure, of_experiment, of_state
from tcptutor.spec import Experiment, Hosts, Path, Topology, interface_names
from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings, SessionState

WIDTHS = (40, 46, 60, 78)
LOSSY = Experiment(
    name="m/e",
    path=Path(rate=40e6, delay=0.05, loss=0.01, queue=125_000, reverse_delay=0.01),
    hosts=Hosts(maxrate=10e6),
)


def texts(figure: NetworkFigure, width: int = 46) -> list[str]:
    return [line.text for line in figure.draw(width)]


@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_interface_is_named(pairs: int, width: int) -> None:
    lines = texts(NetworkFigure(id="lab", pairs=pairs), width)
    drawn = "\n".join(lines)
    assert max(map(len, lines)) <= width
    for name in interface_names(pairs):
        is_full = (
            pairs == 1 or width >= 60 or name in Topology(pairs).links[0] or (width >= 42 and name[0] == "s")
        )
        shown = name if is_full else name.partition("-")[2]
        assert shown in drawn or name.partition("-")[0] in drawn


@pytest.mark.parametrize("width", WIDTHS)
def test_the_interfaces_of_a_pair_are_in_the_order_of_the_path(width: int) -> None:
    lines = texts(NetworkFigure(id="lab"), width)
    places = [next(line.index(name) for line in lines if name in line) for name in ("h1-eth0", "s1-eth1")]
    places += [next(line.index(name) for line in lines if name in line) for name in ("s1-eth2", "s2-eth1")]
    places += [next(line.index(name) for line in lines if name in line) for name in ("s2-eth2", "h2-eth0")]
    assert all(before < after for before, after in pairwise(places))


def test_settings_are_next_to_their_interface() -> None:
    lines = texts(of_experiment(LOSSY))
    at = {
        name: number
        for number, line in enumerate(lines)
        for name in ("s1-eth2 ", "s2-eth1 ")
        if name in line[:10]
    }
    assert "netem" in lines[at["s1-eth2 "]]
    assert "delay 50 ms" in lines[at["s1-eth2 "]]
    assert "delay 10 ms" in lines[at["s2-eth1 "]], "the reverse path"
    words = of_experiment(LOSSY).describe()
    for fact in ("loss 1 %", "rate 40 Mbit/s", "queue 125 kB", "h1-eth0: fq maxrate 10 Mbit/s"):
        assert fact in words


def test_the_drawing_before_a_run_says_what_the_hosts_do() -> None:
    experiment = Experiment(name="m/e", path=Path(rate=1e6), hosts=Hosts(window=65536))
    drawn = "\n".join(texts(of_experiment(experiment, hosts=True), 60))
    for fact in ("cubic, 1 flow", "65.5 kB"):
        assert fact in drawn
    assert "cubic" not in "\n".join(texts(of_experiment(experiment)))


def test_marks_are_visible_without_colors() -> None:
    marked = texts(NetworkFigure(id="lab", mark=("s1-eth2",)))
    assert any("▸s1-eth2" in line for line in marked)
    assert "s1-eth2" in NetworkFigure(id="lab", mark=("s1-eth2",)).describe().rpartition("Marked")[2]


def test_the_kernel_s_state_replaces_the_plan() -> None:
    own = NetworkFigure(id="lab", experiment="", notes=(InterfaceNote(at="s1-eth1", text="faces h1"),))
    held = InterfaceState("s1-eth2", (QdiscSettings("netem", "1:", "root", {"delay": 0.02, "limit": 1000}),))
    narrow = InterfaceState("h2-eth0", (QdiscSettings("noqueue", "0:", "root"),), mtu=1400)
    shown = of_state(SessionState(LOSSY, (held, narrow)), 1, own, mark=["s1-eth2"])
    words = shown.describe()
    for fact in ("s1-eth2: netem delay 20 ms.", "h2-eth0: MTU 1400.", "faces h1", "Marked: s1-eth2"):
        assert fact in words
    assert "tbf" not in words, "what the kernel does not hold"
    assert "noqueue" not in words
    assert shown.id == own.id


def test_nothing_set_is_said() -> None:
    assert "no delay, loss or rate is set" in "\n".join(texts(of_state(SessionState(LOSSY), 1)))


def test_a_mark_on_another_network_is_a_problem() -> None:
    assert list(NetworkFigure(id="lab", mark=("s1-eth3",)).problems())
    assert not list(NetworkFigure(id="lab", pairs=2, mark=("s1-eth3",)).problems())
    assert NetworkFigure(id="lab", pairs=5).contradiction() is not None


@pytest.mark.parametrize("width", WIDTHS)
def test_three_switches_stand_in_a_row_with_their_hosts_below(width: int) -> None:
    parts = {"rate": 10e6, "second_rate": 5e6, "second_delay": 0.02}
    made = Experiment(name="m/e", path=Path(crosses=("both", "first", "second"), **parts), pairs=3)  # type: ignore[arg-type]
    figure = of_experiment(made)
    lines = texts(figure, width)
    assert max(map(len, lines)) <= width
    assert [lines[0].index(switch) for switch in ("s1", "s2", "s3")] == [
        1,
        width_of(width) + 1,
        2 * width_of(width) + 1,
    ]
    below = [line.split("─")[1:] for line in lines[2:4]]
    assert [[part.split()[0] for part in parts] for parts in below] == [
        ["h1", "h4", "h2"],
        ["h3", "h5", "h6"],
    ]
    assert any(
        "s2-eth2" in line and "5 Mbit/s" in line
        for line in (" ".join(lines[at : at + 3]) for at in range(len(lines)))
    )
    assert "h5 sends to h6 over the link from s2 to s3" in figure.describe()


def width_of(width: int) -> int:
    """The columns of a switch."""
    return min(width, 72) // 3
