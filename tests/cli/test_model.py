"""`tcptutor model`: the calculator, as a user types it."""

from __future__ import annotations

import json
import shlex

import pytest
from click.testing import CliRunner, Result

from tcptutor import theory
from tcptutor.commands.command_line import main
from tcptutor.theory.catalogue import MODELS
from tests.each import each


def model(command: str) -> Result:
    return CliRunner().invoke(main, ["model", *shlex.split(command)], catch_exceptions=False)


def document(command: str) -> dict[str, object]:
    done = model(f"{command} --json")
    assert done.exit_code == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_without_a_name_it_lists_every_model_in_80_columns() -> None:
    done = model("")
    assert done.exit_code == 0
    names = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line.strip()}
    assert names >= set(MODELS) | {"trajectory"}
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert {each["model"] for each in document("")["models"]} == set(MODELS) | {"trajectory"}  # type: ignore[attr-defined]


@each("name", [*MODELS, "trajectory"])
def test_every_model_explains_itself_and_its_example_works(name: str) -> None:
    done = model(name)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("  source ") for line in lines)
    example = lines[-1].strip()
    assert example.startswith(f"tcptutor model {name}")
    computed = model(example.removeprefix("tcptutor model "))
    assert computed.exit_code == 0, computed.stderr
    assert max(map(len, computed.stdout.splitlines())) <= 80
    result = document(example.removeprefix("tcptutor model "))
    assert result["model"] == name
    assert result["formula"]
    assert result["source"]


def test_units_in_and_out() -> None:
    done = model("mathis mss=1448 rtt=50ms loss=0.1%")
    assert done.stdout.splitlines()[0] == "mathis: 8.973 Mbit/s"
    assert document("mathis mss=1448 rtt=50ms loss=0.1%") == {
        "model": "mathis",
        "parameters": {"mss": 1448, "rtt": 0.05, "loss": 0.001, "c": theory.MATHIS_PERIODIC},
        "result": {"value": pytest.approx(theory.mathis(1448, 0.05, 1e-3)), "unit": "bit/s"},
        "formula": "8 mss c / (rtt √loss)",
        "source": "Mathis, Semke, Mahdavi, Ott 1997, eq. 3",
    }


@pytest.mark.parametrize(
    ("command", "first"),
    [
        ("bdp rate=10Gbit/s rtt=20ms", "bdp: 25 MB"),
        ("window_limited window=64KiB rtt=100ms", "window_limited: 5.243 Mbit/s"),
        ("goodput-ratio mtu=1500", "goodput_ratio: 95.64 %"),
        ("goodput_ratio mtu=1500 framing=38", "goodput_ratio: 94.15 %"),
        ("goodput_ratio mtu=1500 timestamps=no", "goodput_ratio: 96.43 %"),
        ("reno_window loss=1e-4", "reno_window: 122.5 segments"),
        ("slow_start_duration window=160 rtt=50ms", "slow_start_duration: 200 ms"),
        ("dctcp_window marking=5%", "dctcp_window: 800 segments"),
        ("dctcp_window marking=5% step=no", "dctcp_window: 40 segments"),
        ("htcp_alpha elapsed=3s", "htcp_alpha: 22 segments/RTT"),
        ("jain_index rates=1Mbit/s,3Mbit/s", "jain_index: 0.8"),
        ("jain_index rates=1,3", "jain_index: 0.8"),
        ("rtt_shares rtts=10ms,40ms", "rtt_shares: 80 %, 20 %"),
        ("aggregate streams=4418:70ms:0.01%,4418:70ms:0.01% c=1", "aggregate: 101 Mbit/s"),
        ("aggregate streams=4418:70ms:0.01% link=10Mbit/s", "aggregate: 10 Mbit/s"),
        ("padhye mss=1448 rtt=50ms loss=0.1% rto=250ms max_window=none", "padhye: 8.873 Mbit/s"),
    ],
)
def test_what_it_answers(command: str, first: str) -> None:
    done = model(command)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[0] == first


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("mathsi", "no model 'mathsi': did you mean mathis?"),
        ("zzzz", "no model 'zzzz': `tcptutor model` lists them all"),
        (
            "mathis mss=1448 rtt=20ms",
            "mathis needs loss (loss events per segment): write it like loss=0.1%",
        ),
        ("mathis rrt=20ms", "no parameter of mathis 'rrt': did you mean rtt?"),
        ("mathis rtt=20", "rtt: '20' has no unit, a time is written like '15 ms'"),
        ("mathis rtt=20Mbit/s", "rtt: '20Mbit/s' has the unit 'Mbit/s', a time is written like '15 ms'"),
        (
            "mathis mss=1448 rtt=-20ms loss=1%",
            "rtt: -0.02 is out of bounds: above 0: a round trip takes time",
        ),
        ("mathis mss=1448 rtt=20ms loss=200%", "loss: 2 is out of bounds: above 0, at most 1: loss events"),
        ("mathis mss", "'mss' is not NAME=VALUE: write it like rtt=20ms"),
        ("mathis rtt=1s rtt=2s", "rtt appears twice"),
        (
            "mathis mss=1448 rtt=1e-300s loss=1e-300",
            "mss, rtt, loss, c: mathis is not finite for these values",
        ),
        ("goodput_ratio mtu=1500 timestamps=perhaps", "timestamps: 'perhaps' is not yes or no"),
        ("aggregate streams=1448:20ms", "streams: '1448:20ms' is not MSS:RTT:LOSS"),
        ("trajectory rate=1Mbit/s", "trajectory needs rtt"),
        ("trajectory rtt=20ms", "rate: without a rate, loss or window the growth never ends"),
        (
            "trajectory rtt=20ms rate=1Mbit/s algorithm=vegas",
            "algorithm: vegas is out of bounds: one of reno,",
        ),
        ("trajectory rtt=20ms rate=1Mbit/s flows=0", "flows: 0 is out of bounds: 1 to 1000: "),
        (
            "trajectory rtt=20ms rate=1Mbit/s duration=1000000s",
            "duration: 1e+06 is out of bounds: at most 20000",
        ),
        ("trajectory rtt=20ms loss=1% queue=1BDP", "queue: a link without a rate has no queue"),
    ],
)
def test_what_cannot_be_computed_is_said_in_one_line(command: str, said: str) -> None:
    done = model(command)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"tcptutor: {said}")


CUBIC = "trajectory algorithm=cubic rate=100Mbit/s rtt=20ms queue=1BDP duration=30s"


def test_a_trajectory_as_a_table() -> None:
    done = model(CUBIC)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    head = next(row for row, line in enumerate(lines) if line.split() == ["t", "cubic", "RTT", "total"])
    assert lines[head + 1].split()[:3] == ["0", "s", "10.0"]
    assert len(lines) < 40
    assert max(map(len, lines)) <= 80
    assert "of the link" in done.stdout


def test_a_trajectory_whole() -> None:
    out = document(CUBIC + " flows=2")
    assert out["parameters"]["queue"] == 250_000  # type: ignore[index]
    flows = out["flows"]
    assert isinstance(flows, list)
    assert [flow["algorithm"] for flow in flows] == ["cubic", "cubic"]
    for flow in flows:
        assert (
            len(flow["t_s"])
            == len(flow["cwnd_segments"])
            == len(flow["rtt_s"])
            == len(flow["series_bps"])
            > 1000
        )
        assert flow["losses_s"]
    assert out["aggregate"]["throughput_bps"] == pytest.approx(100e6, rel=0.02)  # type: ignore[index]


def test_several_algorithms_take_turns() -> None:
    out = document("trajectory algorithm=reno,bbr flows=3 rate=100Mbit/s rtt=20ms duration=5s")
    assert [flow["algorithm"] for flow in out["flows"]] == ["reno", "bbr", "reno"]  # type: ignore[attr-defined]
    many = model("trajectory flows=8 rate=100Mbit/s rtt=20ms duration=5s")
    assert "mean of 8" in many.stdout
    assert max(map(len, many.stdout.splitlines())) <= 80


def test_a_range_of_one_argument_gives_a_row_for_each_value() -> None:
    done = model("mathis mss=1448 rtt=50ms loss=0.01..1%")
    rows = [line.split() for line in done.stdout.splitlines()[2:13]]
    assert [rows[0][:4], rows[-1][:4]] == [["0.01", "%", "28.37", "Mbit/s"], ["1", "%", "2.837", "Mbit/s"]]
    whole = document("mathis mss=1448 rtt=50ms loss=0.01%..1%/x3")
    assert whole["over"] == "loss"
    assert whole["parameters"]["loss"] == pytest.approx([1e-4, 1e-3, 1e-2])  # type: ignore[index]
    assert whole["result"]["value"] == pytest.approx(  # type: ignore[index]
        [theory.mathis(1448, 0.05, loss) for loss in (1e-4, 1e-3, 1e-2)]
    )
    equal = document("bdp rate=10Mbit/s..40Mbit/s/4 rtt=20ms")
    assert equal["parameters"]["rate"] == pytest.approx([1e7, 2e7, 3e7, 4e7])  # type: ignore[index]


@pytest.mark.parametrize(
    ("command", "ticks", "label"),
    [
        ("mathis mss=1448 rtt=50ms loss=0.01%..1%", ["0.01", "0.1", "1"], "loss, %"),
        ("bdp rate=10Mbit/s..40Mbit/s rtt=20ms", ["10", "20", "40"], "rate, Mbit/s"),
        ("htcp_alpha elapsed=0s..5s", ["0", "1", "5"], "elapsed, s"),
        ("trajectory rate=20Mbit/s rtt=50ms duration=10s", ["0", "10"], "10 s"),
    ],
)
def test_a_curve_is_drawn_in_the_terminal(command: str, ticks: list[str], label: str) -> None:
    done = model(f"{command} --plot")
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert label in " ".join(line.strip() for line in lines[-2:])
    assert set(ticks) <= set(" ".join(lines[-3:]).split())
    assert any("\u2800" < character < "\u28ff" for character in done.stdout)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("mathis mss=1448 rtt=50ms loss=0.1% --plot", "--plot needs a model and a range"),
        ("mathis mss=1448 rtt=1ms..2ms loss=0.1%..1%", "rtt, loss: only one argument can be a range"),
        (
            "rtt_shares rtts=20ms..100ms",
            "rtts: a range needs an argument that is a number: write it like 10ms,40ms",
        ),
        ("mathis mss=1448 rtt=50ms loss=1%..0.1%", "loss: 1% is not below 0.1%"),
        ("mathis mss=1448 rtt=50ms loss=0.1..1s", "loss: "),
        ("mathis mss=1448 rtt=50ms loss=0%..1%/x5", "loss: "),
        ("mathis mss=1448 rtt=50ms loss=0.1%..1%/1", "2 to 1000 values"),
        ("mathis mss=1448 rtt=50ms loss=0.1%..1%/5000", "2 to 1000 values"),
        ("mathis mss=1448 rtt=50ms loss=..", "loss: '..' is not a range"),
        ("mathis mss=1448 loss=0.1%..1%", "mathis needs rtt"),
        ("jain_index rates=1..3", "rates: "),
        ("trajectory rtt=1ms..2ms rate=1Mbit/s", "rtt: "),
        ("mathis mss=1448 rtt=50ms loss=0.1%..1% --plot --json", "omit --json, or name a file"),
        ("mathis --plot mss=1448", "to draw in the terminal, write --plot last"),
        ("--plot", "--plot needs a model and a range"),
    ],
)
def test_what_cannot_be_a_curve_is_told_in_one_line(command: str, says: str) -> None:
    done = model(command)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert says in done.stderr
