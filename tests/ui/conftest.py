from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tcptutor.course import load
from tcptutor.course.model import Course
from tcptutor.journal import Journal
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.ui import reading
from tcptutor.ui.app import TutorApp

from .fakes import FakeLab, Throughput, expect, report

COURSE = Path(__file__).parent / "course"


@pytest.fixture(scope="session")
def course() -> Course:
    return load(COURSE)


@pytest.fixture(autouse=True)
def fixed_analysis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and numbers of the analysis that do not change when its models do."""

    async def fixed_expectation(experiment: Experiment) -> Any:
        return expect(experiment)

    async def fixed_report(run: Run) -> Any:
        return report(run) if run.experiment_s > run.experiment.flows.warmup else None

    class Rates:
        def __init__(self) -> None:
            self._throughput = Throughput()

        def add(self, samples: Any) -> list[tuple[float, float]]:
            for sample in samples:
                self._throughput.add([sample])
            return self._throughput.points

    monkeypatch.setattr(reading, "expectation", fixed_expectation)
    monkeypatch.setattr(reading, "report", fixed_report)
    monkeypatch.setattr(reading, "Rates", Rates)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.open(tmp_path / "journal.db")
    yield journal
    journal.close()


@pytest.fixture
def lab() -> FakeLab:
    return FakeLab()


@pytest.fixture
def make_app(course: Course, journal: Journal, lab: FakeLab) -> Callable[..., TutorApp]:
    def make(module: str | None = None, **options: Any) -> TutorApp:
        return TutorApp(course, journal, lab, module=module, **options)

    return make
