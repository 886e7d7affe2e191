"""What is expected of any experiment that spec builds, at the ends of its bounds as well: something, or nothing."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor import spec
from tcptutor.analysis.expected.expect import expect
from tcptutor.base.errors import ParameterError
from tcptutor.spec import ALGORITHMS, PARAMETERS, Experiment, Parameter
from tests.examples import examples

_CHANGES = ("", "1s rate=1Mbit/s", "1s rate=10kbit/s; 2s rate=100Gbit/s", "0s loss=75%", "1s delay=2s; 1.5s delay=0s",
            "1s link=down", "0s link=down; 2s link=up", "0.5s queue=3kB", "0s jitter=0s; 1s jitter=1us",
            "1s algorithm=bbr; 2s mtu=576", "0s mtu=600; 1s algorithm=reno")  # fmt: skip

_TRACES = ("none", "0s 100kbit/s", "0s 1Gbit/s; 0.5s 100kbit/s; 1s 10Mbit/s", "0s 2Mbit/s; 900s 1Mbit/s")


def _values(known: Parameter) -> st.SearchStrategy[str]:
    if known.kind == "changes":
        return st.sampled_from(_CHANGES)
    if known.kind == "trace":
        return st.sampled_from(_TRACES)
    if known.choices:
        each = st.sampled_from(known.choices)
    elif known.kind == "name":
        each = st.sampled_from(ALGORITHMS)
    else:
        low, high = known.low, known.high
        ends = [low, high, low + (high - low) * 1e-6, math.sqrt(max(low, high * 1e-9) * high)]
        whole = known.kind in ("count", "size", "window")
        numbers = st.sampled_from(ends) | st.floats(low, high)
        each = numbers.map(lambda value: known.text_of(float(round(value)) if whole else value))
    if known.is_list:
        return st.lists(each, min_size=1, max_size=3).map(",".join)
    return each


@st.composite
def experiments(draw: st.DrawFn) -> Experiment | None:
    """None for a combination that contradicts itself."""
    names = draw(st.lists(st.sampled_from(sorted(PARAMETERS)), max_size=6, unique=True))
    asked: dict[str, Any] = {"rate": "10 Mbit/s", "delay": "20 ms", "duration": "5 s"}
    asked |= {name: draw(_values(PARAMETERS[name])) for name in names}
    try:
        return spec.build("m/e", {"parameters": asked})
    except ParameterError as error:
        assert str(error).isprintable()
        return None


@settings(max_examples=examples(600))
@given(experiments())
def test_every_legal_experiment_has_finite_predictions(made: Experiment | None) -> None:
    if made is None:
        return
    found = expect(made)
    for each in found.predictions:
        assert math.isfinite(each.throughput_bps) and each.throughput_bps >= 0, each
        assert each.formula.isprintable()
    spec.check(made)
    assert all(text.isprintable() for text in spec.settings(made).values())


_ANY = {
    "path": {
        "rate": (0.0, 1.0, 5e3, 1e13),
        "delay": (0.0, 1e-9, 300.0, 1e6),
        "jitter": (0.0, 1e6),
        "loss": (0.0, 1e-12, 0.99, 1.0),
        "queue": (0, 1, 2**50),
        "burst": (0, 1, 2**50),
        "loss_burst": (0.0, 1.0, 1.5, 1e9),
        "loss_correlation": (0.0, 1.0),
        "reorder": (0.0, 1.0),
        "duplicate": (0.0, 1.0),
        "reverse_rate": (1.0, 1e13),
        "reverse_delay": (0.0, 1e6),
        "reverse_loss": (0.0, 1.0),
        "reverse_queue": (0, 2**50),
        "pair_delays": ((), (0.0,), (1e6, 0.0)),
        "changes": (
            (),
            (spec.Change(0.0, "rate", 1.0),),
            (spec.Change(1e6, "delay", 0.0),),
            (spec.Change(0.0, "loss", 1.0),),
            (spec.Change(1.0, "queue", 1.0), spec.Change(1.0, "link", 0.0)),
            (spec.Change(0.0, "streams", 5.0), spec.Change(1.0, "streams", 1.0, 1)),
            (spec.Change(1.0, "streams", 2.0), spec.Change(1e6, "streams", 9.0)),
        ),
    },
    "hosts": {
        "window": (0, 1, 2**50),
        "send_buffer": (0, 1, 2**50),
        "mtu": (0, 1, 68, 65_536),
        "mss": (0, 1, 65_536),
        "maxrate": (1.0, 1e13),
        "algorithm": ("", "prague"),
        "algorithms": (("",), ("bbr", "x")),
    },
    "flows": {
        "streams": (0, 1, 500),
        "duration": (0.0, 1e-3, 0.01, 1e6),
        "warmup": (0.0, 1e6),
        "starts": ((), (0.0,), (1e6,)),
        "pacing": (1.0, 1e13),
        "buffer": (0, 2**50),
        "length": (0, 1, 2**50),
        "bytes": (0, 1, 2**50),
        "udp_streams": (0, 500),
        "udp_rate": (1.0, 1e13),
        "directions": (("reverse",), ("forward", "reverse")),
    },
    "": {"pairs": (1, 4, 500), "framing": (0, 65_536)},
}
"""What a lab that somebody sets up by hand may hold, or another program's file may tell."""
_EACH = [(part, name) for part, names in _ANY.items() for name in names]


@st.composite
def plausible(draw: st.DrawFn) -> Experiment | None:
    """Any that may stand in a file; None where several values together are beyond it."""
    made: Experiment = spec.build(
        "m/e", {"parameters": {"rate": "10 Mbit/s", "delay": "20 ms", "loss": "1 %"}}
    )
    for part, name in draw(st.lists(st.sampled_from(_EACH), min_size=1, max_size=5, unique=True)):
        value = {name: draw(st.sampled_from(_ANY[part][name]))}
        if part:
            made = msgspec.structs.replace(
                made, **{part: msgspec.structs.replace(getattr(made, part), **value)}
            )
        else:
            made = msgspec.structs.replace(made, **value)
    try:
        spec.check_plausible(made)
    except ParameterError:
        return None
    return made


@settings(max_examples=examples(600))
@given(plausible())
def test_every_plausible_file_has_finite_predictions(made: Experiment | None) -> None:
    if made is None:
        return
    for each in expect(made).predictions:
        assert math.isfinite(each.throughput_bps) and each.throughput_bps >= 0, each
    assert all(text.isprintable() for text in spec.settings(made).values())


@settings(max_examples=examples(300))
@given(experiments())
def test_a_written_experiment_builds_the_same_experiment(made: Experiment | None) -> None:
    if made is None:
        return
    again = spec.build("m/e", {"parameters": {name: str(text) for name, text in spec.settings(made).items()}})
    spec.check(again)
    assert msgspec.json.decode(msgspec.json.encode(made), type=Experiment) == made
