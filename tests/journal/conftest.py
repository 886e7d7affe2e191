from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.journal import Journal
from tcptutor.run import Environment, Run
from tcptutor.spec import Experiment


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.db"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    journal = Journal.open(path)
    yield journal
    journal.close()


def a_run(id: str = "r1") -> Run:
    return Run(
        id=id,
        experiment=Experiment(name="m/e"),
        environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
        started="2026-01-01T00:00:00+00:00",
    )
