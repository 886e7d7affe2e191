import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor import spec
from tcptutor.base import units
from tcptutor.base.errors import ParameterError
from tests.conftest import Build

TABLE = {
    "title": "A path",
    "parameters": {"rate": "100 Mbit/s", "delay": "20 ms", "loss": "0.1 %", "algorithm": "reno"},
}


def test_an_experiment_has_its_file_values_in_base_units() -> None:
    built = spec.build("module/name", TABLE)
    assert (built.path.rate, built.path.delay, built.path.loss) == (1e8, 0.02, 0.001)
    assert built.hosts.algorithm == "reno"
    assert built.bdp == 250_000


def test_overrides_replace_what_the_file_says() -> None:
    built = spec.build("module/name", TABLE, {"streams": "4", "loss": "1%", "window": "64KiB"}, seed=7)
    assert (built.flows.streams, built.path.loss, built.hosts.window, built.seed) == (4, 0.01, 65536, 7)


def test_a_fixed_amount_is_measured_from_its_first_byte_unless_a_warmup_is_given_with_it() -> None:
    table = {"parameters": {**TABLE["parameters"], "warmup": "5 s"}}
    assert spec.build("n", table).flows.warmup == 5
    assert spec.build("n", table, {"bytes": "none"}).flows.warmup == 5
    assert spec.build("n", table, {"bytes": "1 MB"}).flows.warmup == 0
    assert spec.build("n", table, {"bytes": "1 MB", "warmup": "2 s"}).flows.warmup == 2
    own = {"parameters": {**table["parameters"], "bytes": "1 MB"}}
    assert spec.build("n", own).flows.warmup == 5
    assert spec.build("n", own, {"loss": "1 %"}).flows.warmup == 5


def test_a_queue_in_bdp_follows_the_rate_and_delay_that_apply() -> None:
    assert spec.build("n", TABLE, {"queue": "2 BDP"}).path.queue == 500_000
    assert spec.build("n", TABLE, {"queue": "2 BDP", "delay": "40 ms"}).path.queue == 1_000_000


@pytest.mark.parametrize("mtu", [1500, 9000])
@pytest.mark.parametrize("buffer", ["4608 bytes", "10 kB", "64 KiB", "1 MiB", "64 MiB"])
def test_what_is_written_into_a_small_send_buffer_is_whole_segments(buffer: str, mtu: int) -> None:
    built = spec.build("n", TABLE, {"send_buffer": buffer, "mtu": str(mtu)})
    assert built.segment == mtu - 52
    assert built.write is not None
    assert built.write % built.segment == 0
    # iperf3 takes no more than 1 MiB, and a buffer holds several writes, or one segment.
    assert built.segment <= built.write <= spec.LENGTH
    assert built.write == built.segment or built.write <= built.hosts.send_buffer / 4
    # What is asked for is written, whatever the buffer.
    assert spec.build("n", TABLE, {"send_buffer": buffer, "length": "16 KiB"}).write == 16384
    assert spec.build("n", TABLE).write is None


def test_a_path_without_a_queue_gets_one_bdp_and_a_short_one_room_for_bursts() -> None:
    assert spec.build("n", TABLE).path.queue == 250_000
    assert spec.build("n", TABLE, {"delay": "0"}).path.queue == 64 * 1514


@pytest.mark.parametrize(
    ("overrides", "names"),
    [
        ({"bandwidth": "1 Gbit/s"}, "no parameter 'bandwidth'"),
        ({"rate": "100"}, "rate"),
        ({"rate": "1 bit/s"}, "rate"),
        ({"loss": "95 %"}, "loss"),
        ({"streams": "0"}, "streams"),
        ({"streams": "65"}, "streams"),
        ({"streams": "2.5"}, "streams"),
        ({"duration": "0 s"}, "duration"),
        ({"mtu": "100"}, "mtu"),
        ({"queue": "10 bytes"}, "queue"),
        ({"algorithm": "Reno; rm -rf /"}, "algorithm"),
        ({"jitter": "30 ms"}, "jitter"),
        ({"delay": "none"}, "delay"),
        ({"window": "2 BDP", "rate": "none"}, "window"),
    ],
)
def test_a_wrong_value_names_the_parameter_in_one_line(overrides: dict[str, str], names: str) -> None:
    with pytest.raises(ParameterError) as caught:
        spec.build("n", TABLE, overrides)
    assert names in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        {"parameter": {}},
        {"parameters": []},
        {"pairs": 5},
        {"pairs": "two"},
        {"seed": -1},
        {"title": 3},
        {"sources": [1]},
    ],
)
def test_a_wrong_table_is_refused(table: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        spec.build("n", table)


def test_an_experiment_survives_its_serialisation() -> None:
    built = spec.build("n", TABLE, {"window": "64KiB", "pacing": "5 Mbit/s"})
    assert msgspec.json.decode(msgspec.json.encode(built), type=spec.Experiment) == built


def test_some_flows_send_messages_and_others_all_the_time() -> None:
    built = spec.build("n", TABLE, {"streams": 2, "messages": "none, 200 B", "interval": "50 ms"})
    assert [built.message(flow) for flow in range(2)] == [None, 200]
    assert spec.settings(built)["messages"] == "none, 200 bytes"
    assert msgspec.json.decode(msgspec.json.encode(built), type=spec.Experiment) == built
    with pytest.raises(ParameterError, match="omit bytes or messages"):
        spec.build("n", TABLE, {"messages": "200 B", "bytes": "1 MB"})


def test_every_parameter_of_the_contract_is_there() -> None:
    assert set(spec.build("n", TABLE).parameters) >= {
        "rate", "delay", "jitter", "loss", "queue", "algorithm", "streams", "duration", "warmup", "window", "mtu",
        "pacing",
    }  # fmt: skip


@given(st.sampled_from([p for p in spec.PARAMETERS.values() if p.is_number]), st.data())
def test_every_value_within_its_bounds_is_taken_as_written(
    parameter: spec.Parameter, data: st.DataObject
) -> None:
    if parameter.kind == "count":
        value: float = data.draw(st.integers(int(parameter.low), int(parameter.high)))
    else:
        value = data.draw(st.floats(parameter.low, parameter.high))
    text = units.write(value, parameter.kind)
    written = units.parse_size(text) if parameter.kind == "window" else units.parse(text, parameter.kind)
    if parameter.low <= written <= parameter.high:  # rounding for the text may leave the bounds
        given = spec.read(parameter.name, text)
        assert (given[0] if parameter.is_list else given) == pytest.approx(written, rel=1e-5, abs=1)


def test_packets_are_kept_at_all_hosts_unless_interfaces_are_named(build: Build) -> None:
    assert build().captured_interfaces == ()
    assert build(capture="on").captured_interfaces == ("h1-eth0", "h2-eth0")
    assert build(pairs=2, capture="on").captured_interfaces == ("h1-eth0", "h2-eth0", "h3-eth0", "h4-eth0")
    named = build(capture="on", capture_at="s1-eth2, h1-eth0, s1-eth2")
    assert named.captured_interfaces == ("s1-eth2", "h1-eth0")
    assert build(pairs=2, capture="on", capture_at="s1-eth3").captured_interfaces == ("s1-eth3",)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"capture": "on", "capture_at": "s1-eth3"}, "there is no s1-eth3 with 1 pair: choose from h1-eth0, h2-eth0"),
        ({"capture": "on", "capture_at": "h9-eth0"}, "'h9-eth0' is not one of"),
        ({"capture_at": "h1-eth0"}, "packets are captured only with capture=on"),
        ({"capture": "on", "snaplen": "20"}, "snaplen: '20' is out of bounds: 54 to 9014"),
        ({"capture": "on", "capture_size": "1 GiB"}, "capture_size: '1 GiB' is out of bounds"),
    ],
)  # fmt: skip
def test_a_capture_that_cannot_be_is_told(build: Build, parameters: dict[str, str], said: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(said)):
        build(**parameters)
