"""Experiments that are each built to be limited by one known thing, on the real guest: the verdict must name it."""

from __future__ import annotations

import tomllib
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tcptutor import spec
from tcptutor.analysis import Verdict, explain
from tcptutor.backends.guest.backend import GuestBackend
from tests.backends.play import play

pytestmark = pytest.mark.guest

CAUSES: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("causes.toml").read_text())


def test_there_is_an_experiment_for_each_cause() -> None:
    assert len(CAUSES) >= 14
    named = {name for row in CAUSES.values() for name in _list(row["limited_by"])}
    assert named == {
        "application", "receive-window", "send-buffer", "pacing", "random-loss", "bottleneck", "growing", "reordering",
        "timeout",
    }  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
async def test_the_verdict_names_the_cause(guest: GuestBackend, name: str) -> None:
    row = CAUSES[name]
    table = {"parameters": row["parameters"], "pairs": row.get("pairs", 1), "seed": row.get("seed", 1)}
    run = await play(guest, spec.build(f"causes/{name}", table))
    assert run.fidelity.status != "invalid", run.fidelity.reasons
    found = explain(run)
    assert found.limited_by in _list(row["limited_by"]), (row["why"], found.sentence, found.evidence)
    assert len(found.sentence) <= 110
    assert len(found.flows) == run.experiment.total_streams
    if "turns" in row:
        assert _turns(found, run.experiment.flows.warmup) == row["turns"]
    for flow in found.flows:
        assert sum(flow.shares.values()) == pytest.approx(1)
        assert flow.limited_by in _list(row["limited_by"])
        assert flow.phases


def _list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _turns(found: Verdict, warmup: float) -> list[str]:
    """The causes of the first flow in turn, in the measured time."""
    names = [second.limited_by for second in found.flows[0].seconds if second.start > warmup - 0.1]
    return [name for name, _ in groupby(names)]
