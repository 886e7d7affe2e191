"""How long each test takes, kept in durations.json: the longest tests start first, and a run tells what is left.

`pytest --store-durations` writes the file anew, for the tests that ran: best of all of them, on a quiet machine.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests import patience

FILE = Path(__file__).with_name("durations.json")
SHORT = 0.3
"""Seconds below which a test is not worth a line in the file."""
USUAL = 0.03
"""Seconds of a test that is not in the file."""


@cache
def stored() -> dict[str, float]:
    """Seconds by node id."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def seconds(nodeid: str) -> float:
    """How long the test takes on a quiet machine."""
    return stored().get(nodeid, USUAL)


class Measuring:
    """A plugin of every process that runs tests: takes their times."""

    def __init__(self) -> None:
        self.found: dict[str, float] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        busy, worked, began = patience.busy(), _worked(), time.monotonic()
        result = yield
        # Where others want the processor too, waiting for it is not the test's.
        wall = (time.monotonic() - began) / max(busy, patience.busy())
        self.found[item.nodeid] = max(wall, _worked() - worked)
        return result

    @pytest.hookimpl
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["durations"] = self.found
        elif self.found:
            store(self.found)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """In the process that gives out tests."""
        self.found |= getattr(node, "workeroutput", {}).get("durations", {})


def store(found: Mapping[str, float]) -> None:
    """Write what was found over what was stored of the same tests."""
    every = {**stored(), **found}
    lasting = {nodeid: round(taken, 1) for nodeid, taken in sorted(every.items()) if taken >= SHORT}
    FILE.write_text(json.dumps(lasting, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


def _worked() -> float:
    """Processor seconds of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
