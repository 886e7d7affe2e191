"""Several experiments at once: recorded runs in place of a lab, and the answer of a worker."""

from __future__ import annotations

from contextlib import aclosing

import msgspec
import pytest

from tcptutor.base.errors import LabError, LabUnavailable, TutorError, UsageError
from tcptutor.course import experiments
from tcptutor.fleet import cluster, pool
from tcptutor.fleet.pool import Place
from tcptutor.run import Run

REPLAY = Place("replay", "recorded", 2, "")


async def test_every_experiment_has_its_run_or_why_it_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tcptutor.backends.replay.SPEED", 1000.0)
    recorded = experiments.build("parallel-streams/small-window")
    ended = {}
    async with aclosing(pool.runs([recorded, recorded, recorded], REPLAY)) as runs:
        async for number, run in runs:
            ended[number] = run
    assert sorted(ended) == [0, 1, 2]
    for run in ended.values():
        assert isinstance(run, Run)
        assert run.complete
        assert run.experiment == recorded


async def test_where_none_can_run_it_says_so_once() -> None:
    unknown = experiments.build("parallel-streams/small-window", {"duration": "9s"})
    with pytest.raises(LabUnavailable, match="not recorded with these values"):
        async with aclosing(pool.runs([unknown, unknown], REPLAY)) as runs:
            async for _ in runs:
                pass


async def test_without_experiments_there_is_nothing_to_do() -> None:
    async with aclosing(pool.runs([], REPLAY)) as runs:
        assert [ended async for ended in runs] == []


@pytest.mark.parametrize("kind", [LabError, UsageError, LabUnavailable])
def test_a_worker_s_error_keeps_its_exit_code(kind: type[TutorError]) -> None:
    answer = cluster.WorkerAnswer(problem="on h: no lab", exit_code=kind.exit_code)
    error = cluster.read_answer(msgspec.json.encode(answer), dict)
    assert isinstance(error, kind)
    assert str(error) == "on h: no lab"


def test_a_worker_s_result_is_read_as_what_was_asked_for() -> None:
    answer = cluster.WorkerAnswer(result=msgspec.Raw(b'{"throughput_bps":1e6}'))
    assert cluster.read_answer(msgspec.json.encode(answer), dict[str, float]) == {"throughput_bps": 1e6}
