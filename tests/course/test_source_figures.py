"""Figures of the documents: attributed to the right one, possible on its link, and claimed as published."""

from __future__ import annotations

from typing import Any

import pytest

from tcptutor.authoring.claim_problems import claim_problems
from tcptutor.authoring.source_figures import unsupported
from tcptutor.base import places
from tcptutor.course.claim import Claim
from tcptutor.course.experiments import Catalogue
from tcptutor.course.published import implausible
from tcptutor.course.quantities import quantities

RIGHT = (
    "Lab 6 has Reno at 472 Mbit/s, and ours has 8.0 Mbit/s. Here it is 7.9 Mbit/s.",
    "**Published** (Lab 9): 3.23 to 9.39 Gbit/s, with 19,668 retransmissions over 20 ms.",
    "**Published** (Lab 12): 0.83588, on a link of 10 Gbit/s.",
    "Nobody is named: 123 Mbit/s.",
    "| Lab 9 | 3.23 | 9.39 |\n| here | 13.1 | 38.3 |",
)
WRONG = {
    "Lab 6 drops 0.05 % of the packets.": "0.05 %",
    "**Published** (Lab 9, section 3): 3.33 to 9.39 Gbit/s.": "3.33",
    "**Published** (Lab 12): 0.93588, as printed.": "0.93588",
    "**Published** (performance document, experiment 6): four together 726 of 941.": "726",
    "| Lab 9 | 3.43 | 9.39 |\n| here | 13.1 | 38.3 |": "3.43",
}
OURS = quantities("8.0 Mbit/s")


@pytest.mark.parametrize("text", RIGHT)
def test_figures_of_a_source_are_in_its_document(text: str) -> None:
    assert not list(unsupported("after_run", text, (), OURS))


@pytest.mark.parametrize(("text", "figure"), WRONG.items())
def test_other_figures_are_reported(text: str, figure: str) -> None:
    (reason,) = unsupported("after_run", text, (), OURS)
    assert reason.startswith(f"{figure!r} is not in ")


def test_a_claim_supports_a_derived_figure() -> None:
    text = "Lab 6 has Reno at 472 Mbit/s, 4.7 % of the link."
    claim = Claim(text="4.7 % of the link", quantity="arithmetic", formula="472 Mbit/s / 10 Gbit/s")
    assert [*unsupported("published", text, (), ())]
    assert not [*unsupported("published", text, (claim,), ())]


@pytest.mark.parametrize(
    ("source", "value", "said"),
    [
        ("lab09_parallel_streams: result.2.throughput.receiver", "3.23 Gbit/s", ""),
        ("tcp_performance_experiments: experiment9.throughput", "43.4 Mbit/s", ""),
        (
            "lab09_parallel_streams: result.2.throughput.receiver",
            "3.33 Gbit/s",
            "assets/published has 3.23 Gbit/s",
        ),
        ("lab09_parallel_streams: result.2.throughputs", "3.23 Gbit/s", "no 'throughputs'"),
        ("lab10: result", "3.23 Gbit/s", "no document 'lab10'"),
        ("", "3.23 Gbit/s", "is required with quantity = 'published'"),
    ],
)
def test_a_published_claim_names_its_entry(source: str, value: str, said: str) -> None:
    claim = Claim(text=value, quantity="published", source=source)
    found = claim_problems(claim, [f"It got {value}."], "pacing", None, Catalogue(places.lessons()).build)
    reasons = [reason for _, reason in found]
    assert any(said in reason for reason in reasons) if said else not reasons, reasons


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"link": 1e9, "experiment": {"tcp_sum": [941e6, 948e6]}}, []),
        ({"link": 1e9, "experiment": {"tcp_sum": [941e6, 999e6]}}, ["lab: experiment.tcp_sum.1: 9.99e+08"]),
        ({"link": 1e9, "experiment": {"tcp_sum": [999e6], "above_link": "A misprint."}}, []),
        ({"path": {"rate": 1e10, "tbf": {}}, "result": [{"throughput": 9.6e9}]}, []),
        ({"path": {"rate": 1e10}, "result": [{"throughput": 9.6e9}]}, ["lab: result.0.throughput: 9.6e+09"]),
    ],
)
def test_no_published_figure_exceeds_its_link_without_a_note(table: dict[str, Any], said: list[str]) -> None:
    found = list(implausible({"lab": table}))
    assert [line.partition(" is more")[0] for line in found] == said
