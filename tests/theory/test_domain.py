"""Outside its domain a model refuses, and says which parameter, which bound and why."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from tcptutor import theory
from tcptutor.base.errors import ParameterError
from tcptutor.theory.catalogue import MODELS, PublishedModel
from tests.each import each

REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("mss: 0", lambda: theory.mathis(0, 0.05, 1e-3)),
    ("rtt: -1", lambda: theory.mathis(1448, -1, 1e-3)),
    ("loss: 0", lambda: theory.mathis(1448, 0.05, 0)),
    ("loss: 1.5", lambda: theory.mathis(1448, 0.05, 1.5)),
    ("loss: nan", lambda: theory.mathis(1448, 0.05, float("nan"))),
    ("c: 0", lambda: theory.mathis(1448, 0.05, 1e-3, c=0)),
    ("loss: 1", lambda: theory.padhye(1448, 0.05, 1, 0.2)),
    ("rto: 0", lambda: theory.padhye_full(1448, 0.05, 0.1, 0)),
    ("b: 0.5", lambda: theory.padhye(1448, 0.05, 0.1, 0.2, b=0.5)),
    ("max_window: 0", lambda: theory.padhye(1448, 0.05, 0.1, 0.2, max_window=0)),
    ("window: 0", lambda: theory.window_limited(0, 0.1)),
    ("rtt: inf", lambda: theory.window_limited(1e5, float("inf"))),
    ("rate: 0", lambda: theory.bdp(0, 0.1)),
    ("rtt: -0.1", lambda: theory.bdp(1e6, -0.1)),
    ("mtu: 52", lambda: theory.goodput_ratio(52)),
    ("framing: -1", lambda: theory.goodput_ratio(1500, framing=-1)),
    ("alpha: 0", lambda: theory.aimd_window(0.1, 0, 0.5)),
    ("beta: 1", lambda: theory.aimd_window(0.1, 1, 1)),
    ("loss: 2", lambda: theory.reno_window(2)),
    ("rtt: 0", lambda: theory.cubic_window(0.1, 0)),
    ("loss: 0", lambda: theory.cubic_random_window(0, 0.1)),
    ("rtt: inf", lambda: theory.cubic_random_window(0.1, float("inf"))),
    ("elapsed: -1", lambda: theory.htcp_alpha(-1)),
    ("rtt: 0", lambda: theory.htcp_window(0.1, 0)),
    ("loss: 0", lambda: theory.htcp_random_window(0, 0.1)),
    ("rtt: inf", lambda: theory.htcp_random_window(0.1, float("inf"))),
    ("loss: 0", lambda: theory.highspeed_window(0)),
    ("streams: none", lambda: theory.aggregate([])),
    ("link: 0", lambda: theory.aggregate([(1448, 0.05, 1e-3)], link=0)),
    ("flows: 0", lambda: theory.shared_utilisation(0, 0.5)),
    ("beta: -0.1", lambda: theory.shared_utilisation(1, -0.1)),
    ("buffer_ratio: -1", lambda: theory.sawtooth_utilisation(-1)),
    ("buffer_ratio: -0.1", lambda: theory.sawtooth_mean(-0.1)),
    ("initial: 0", lambda: theory.slow_start_duration(10, 0.1, initial=0)),
    ("rates: none", lambda: theory.jain_index([])),
    ("rates: all 0", lambda: theory.jain_index([0, 0])),
    ("rates: -1", lambda: theory.jain_index([1, -1])),
    ("samples: inf", lambda: theory.coefficient_of_variation([1, float("inf")])),
    ("framing: inf", lambda: theory.goodput_ratio(1500, framing=float("inf"))),
    ("loss: 0.13", lambda: theory.bbr_throughput(1e8, 0.13)),
    ("flows: 0", lambda: theory.bbr_fraction(1e8, 0.05, 1e5, 1514, flows=0)),
    ("buffer: 0", lambda: theory.bbr_fraction(1e8, 0.05, 0, 1514)),
    ("gain: 0.9", lambda: theory.bbr_window(1e8, 0.05, 1448, gain=0.9)),
    ("marking: 0", lambda: theory.dctcp_window(0)),
    ("marking: 1.1", lambda: theory.ecn_window(1.1)),
    ("window: 1", lambda: theory.dctcp_marking(1)),
    ("start: 101", lambda: theory.cubic_k(100, 101)),
    ("start: 0", lambda: theory.cubic_curve(1, 100, 0)),
    ("longest: 0.01", lambda: theory.htcp_beta(0.02, 0.01)),
    ("flows: 0.5", lambda: theory.buffer_rule(1e8, 0.05, 0.5)),
    ("loss: 1", lambda: theory.completion_time(1e6, 1448, 0.05, loss=1)),
    ("initial: 0.5", lambda: theory.completion_time(1e6, 1448, 0.05, initial=0.5)),
    ("power: 2.5", lambda: theory.rtt_shares([0.1], power=2.5)),
    ("rtts: none", lambda: theory.rtt_shares([])),
    ("sizes: 1", lambda: theory.rtt_shares([0.1, 0.2], [1448])),
    ("loss: 1.1", lambda: theory.tfrc(1448, 0.05, 1.1)),
]


@each(("begins", "call"), REFUSED, ids=[f"{n}-{name}" for n, (name, _) in enumerate(REFUSED)])
def test_a_value_outside_the_domain_is_refused_by_name(begins: str, call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError) as error:
        call()
    message = str(error.value)
    assert message.startswith(begins + " is out of bounds: ")
    assert message.count(": ") >= 3  # the parameter, its bound, and the reason
    assert "\n" not in message


USUAL = {
    "alpha": 1, "b": 1, "beta": 0.5, "buffer": 1e5, "buffer_ratio": 0.5, "c": 1, "elapsed": 2, "flows": 2,
    "framing": 14, "gain": 2, "initial": 10, "link": 1e8, "longest": 0.1, "loss": 0.001, "marking": 0.05,
    "max_window": 64, "mss": 1448, "mtu": 1500, "peak": 100, "power": 1, "rate": 1e8, "rates": [1.0, 2.0],
    "rto": 0.25, "rtt": 0.05, "rtts": [0.05, 0.1], "samples": [1.0, 2.0], "size": 1e6, "sizes": [1448, 1448],
    "start": 70, "step": True, "streams": [(1448, 0.05, 0.001)], "timestamps": True, "window": 100,
}  # fmt: skip
SWITCHES = {"step", "timestamps"}
NUMBERS = [
    (model, parameter.name)
    for model in MODELS.values()
    for parameter in model.parameters
    if parameter.name not in SWITCHES
]


@each("outside", [-1.0, float("nan")], ids=["negative", "nan"])
@each(("model", "name"), NUMBERS, ids=[f"{model.name}-{name}" for model, name in NUMBERS])
def test_every_parameter_of_every_model_has_a_bound(model: PublishedModel, name: str, outside: float) -> None:
    usual = {parameter.name: USUAL[parameter.name] for parameter in model.parameters}
    model.function(**usual)
    given = usual[name]
    broken: object = outside
    named = name
    if name == "streams":
        broken, named = [(1448, outside, 0.001)], "rtt"
    elif isinstance(given, list):
        broken = [outside, *given[1:]]
    with pytest.raises(ParameterError, match=f"^{named}: .* is out of bounds: .*: "):
        model.function(**(usual | {name: broken}))


PROMISED = {
    "mathis", "padhye", "padhye_full", "window_limited", "bdp", "goodput_ratio", "aimd_window", "reno_window",
    "cubic_window", "htcp_alpha", "highspeed_window", "aggregate", "shared_utilisation",
    "sawtooth_utilisation", "slow_start_duration", "jain_index", "coefficient_of_variation", "bbr_throughput",
    "bbr_window", "ecn_window", "dctcp_window", "queueing_delay", "completion_time", "rtt_shares",
    "buffer_rule", "cubic_k", "trajectories",
}  # fmt: skip


def test_everything_promised_is_exported() -> None:
    assert set(theory.__all__) >= PROMISED
    assert all(callable(getattr(theory, name)) for name in PROMISED)


def test_every_public_function_is_in_the_catalogue_and_says_where_it_comes_from() -> None:
    public = {name for name in theory.__all__ if inspect.isfunction(getattr(theory, name))}
    assert set(MODELS) == public - {"trajectories", "limited_link", "limited_rates"}
    for model in MODELS.values():
        assert model.formula
        assert model.source
        said = inspect.getdoc(model.function) or ""
        assert "Source:" in said or "as `padhye`" in said, model.name
        assert "ParameterError" in said or "rrors as" in said or model.name == "cubic_region_window"
