"""Pipes: packets where they are, a queue as long as it is, and numbers that fit the picture."""

from __future__ import annotations

import re

import msgspec
import pytest

from tcptutor.figures.kinds.pipe import PipeFigure
from tcptutor.figures.pipe_drawing import PipePacket, PipeState, draw_pipe

SIMULATE = {"duration": "200 ms", "rtt": "40 ms", "rate": "20 Mbit/s", "size": "1500 bytes"}


def pipe(**keys: object) -> PipeFigure:
    simulate = {**SIMULATE, **keys.pop("simulate", {})}  # type: ignore[dict-item]
    figure = msgspec.convert({"id": "it", "kind": "pipe", "simulate": simulate, **keys}, PipeFigure)
    assert figure.contradiction() is None
    return figure


def texts(figure: PipeFigure, t: float, width: int = 72) -> list[str]:
    return [line.text for line in figure.draw(width, t)]


def test_a_segment_goes_right_and_its_ack_left() -> None:
    figure = pipe(simulate={"algorithm": "fixed", "window": 1})
    links = [texts(figure, t)[1].removeprefix("h1 ") for t in (0.005, 0.010, 0.015)]
    right = [len(link) - len(link.lstrip(" ─")) for link in links]
    left = [texts(figure, t)[2].index("◂") for t in (0.025, 0.030, 0.035)]
    assert right == sorted(set(right))
    assert left == sorted(set(left), reverse=True)


def test_udp_has_no_acks_and_its_drops_are_counted() -> None:
    figure = pipe(simulate={"queue": 4, "udp_rate": "40 Mbit/s", "duration": "100 ms"})
    lines = texts(figure, 0.1)
    assert "◂" not in "".join(lines)
    numbers = [int(texts(figure, t)[-1].strip(" ✗").removesuffix(" dropped")) for t in (0.02, 0.05, 0.1)]
    assert numbers == sorted(numbers) and numbers[0] > 0
    assert "0 ACKs on the way back" in figure.describe()


def test_the_queue_is_as_long_as_its_number_says() -> None:
    figure = pipe(simulate={"queue": 12, "algorithm": "fixed", "window": 24, "segments": 24, "sack": True})
    for t in (0.0, 0.01, 0.05, 0.1):
        lines = texts(figure, t)
        waiting = lines[1].split("┃")[0].count("■")
        assert f"queue {waiting} of 12" in lines[0]
        assert lines[1].split("┃")[0].count("·") == 12 - waiting
    assert "11 dropped" in texts(figure, 0.1)[3], "one leaves at once and twelve wait"


def test_link_and_queue_have_one_scale() -> None:
    figure = pipe(simulate={"window": "4 BDP", "pacing": "even"})
    (_, row, _, scale) = texts(figure, 0.18)
    queue, link = row.split("┃")
    assert queue.count("■") == pytest.approx(6 * link.count("■"), rel=0.1), (
        "3 BDP wait, half a BDP is on the link"
    )
    assert "segments" in scale


def test_half_a_bdp_fills_half_of_the_link() -> None:
    figure = pipe(simulate={"window": "0.5 BDP", "pacing": "even"})
    link = texts(figure, 0.18)[1].removeprefix("h1 ").removesuffix(" h2")
    assert link.count("─") == pytest.approx(len(link) / 2, rel=0.1)


def test_flows_take_turns_when_each_has_a_queue() -> None:
    flows = [{"size": "1000 bytes"}, {"size": "1500 bytes"}]
    simulate = {
        "schedule": "round-robin",
        "algorithm": "fixed",
        "window": 8,
        "flow": flows,
        "rate": "8 Mbit/s",
    }
    lines = texts(pipe(simulate=simulate, senders=["A", "B"]), 0.1)
    assert lines[1].startswith("A")
    assert lines[3].startswith("B")
    assert "█" in lines[2]
    assert "▒" in lines[2]


def test_a_narrow_head_keeps_the_queue_and_drops_the_rest() -> None:
    figure = pipe(simulate={"queue": 12}, row=[{"label": "a long label here"}])
    wide, narrow = texts(figure, 0.1, 72)[0], texts(figure, 0.1, 40)[0]
    assert "in flight" in wide
    assert "in flight" not in narrow
    assert "queue" in narrow


def test_a_figure_may_leave_out_queue_and_numbers() -> None:
    keys = {"simulate": {"window": 20}, "rest": "100 ms"}
    full, plain = pipe(**keys), pipe(**keys, show_queue=False, numbers=False)
    assert len(texts(full, 0.01)) - len(texts(plain, 0.01)) == 1
    assert "┃" in texts(full, 0.01)[1]
    assert not any("┃" in line or "flight" in line for line in texts(plain, 0.01))


def test_a_state_is_drawn_without_a_simulation() -> None:
    state = PipeState(
        segments=(PipePacket(front=0.5), PipePacket("lost", 0.9)),
        queues=((PipePacket(), PipePacket("retransmission")),),
        acks=(PipePacket("ack", 0.5), PipePacket("duplicate", 0.9)),
        capacity=20,
        longest=10,
        room=10,
        dropped=3,
        shows_drops=True,
        label="h1 to h2",
    )
    head, link, acks, drops = (line.text for line in draw_pipe(state, 60))
    assert "h1 to h2" in head
    assert "◆■┃" in link or "◆" in link.split("┃")[0]
    assert "✗" in link
    assert acks.index("◃") < acks.index("◂")
    assert "3 dropped" in drops


def test_words_say_when_the_first_drop_is_heard_of() -> None:
    words = pipe(simulate={"queue": 5}).describe()
    assert "die" in words
    assert "first retransmission leaves at" in words


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({"simulate": {"rtt": "40 ms"}}, "simulate.duration"),
        ({"simulate": {**SIMULATE, "window": "3 bananas"}}, "simulate"),
        ({"simulate": SIMULATE, "senders": ["A", "B"]}, "senders"),
        ({"simulate": SIMULATE, "rest": "1 s"}, "rest"),
        ({"simulate": SIMULATE, "row": [{}, {"set": {"duration": "1 s"}}]}, "row"),
    ],
)
def test_what_cannot_be_drawn_is_named(keys: dict[str, object], key: str) -> None:
    problem = msgspec.convert({"id": "it", "kind": "pipe", **keys}, PipeFigure).contradiction()
    assert problem is not None
    assert problem[0] == key


def test_the_window_slides_by_a_segment_per_ack() -> None:
    table = {"duration": "330 ms", "rtt": "100 ms", "rate": "10 Mbit/s", "window": 2, "initial_window": 2}
    figure = msgspec.convert(
        {"id": "w", "kind": "pipe", "sliding_window": True, "show_queue": False, "simulate": table},
        PipeFigure,
    )
    assert figure.contradiction() is None

    def window(t: float) -> list[str]:
        return re.findall(r"\[(.*)\]", figure.draw(72, t)[0].text)[0].split()

    assert window(0.05) == ["1", "2"]
    acks = [packet.arrived for packet in figure.traces[0].packets if packet.kind == "ack" and packet.arrived]
    assert window(acks[0]) == ["2", "3"]
    assert window(acks[1]) == ["3", "4"]
    assert "The window goes from 7 to 8" in figure.describe()
    places = {figure.draw(72, t)[0].text.index("6") for t in (0.0, 0.1, 0.2)}
    assert len(places) == 1, "segments keep their place"


def test_words_tell_bursts_from_pacing() -> None:
    table = {"duration": "80 ms", "rtt": "40 ms", "rate": "7 Mbit/s", "size": "1514 bytes", "window": 8}
    rows = [{"label": "as one burst"}, {"label": "paced", "set": {"pacing": "even"}}]
    words = msgspec.convert(
        {"id": "b", "kind": "pipe", "simulate": table, "row": rows}, PipeFigure
    ).describe()
    burst, paced = words.split("Paced")
    assert "in bursts, 8 in a row" in burst
    assert "evenly, one every 5.2" in paced
