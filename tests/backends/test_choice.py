"""Which lab runs an experiment, without any lab: what the host's kernel has, and whether there is a guest."""

from __future__ import annotations

import os

import pytest

from tcptutor import course
from tcptutor.backends import selection
from tcptutor.backends.replay import ReplayBackend
from tcptutor.backends.selection import (
    COURSE_ALGORITHMS,
    COURSE_QDISCS,
    ChosenBackend,
    choose,
    choose_for_session,
)
from tcptutor.base.errors import KernelLacks, LabUnavailable, TutorError
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tests.conftest import Build

WHOLE = Environment(
    backend="host", clock="real", kernel="6.12", qdiscs=COURSE_QDISCS, algorithms=COURSE_ALGORITHMS
)
NO_NETEM = Environment(
    backend="host", clock="real", kernel="6.18", qdiscs=("tbf",), algorithms=("reno", "cubic", "bbr")
)


class Machine:
    """What this machine has: the host's kernel, and a guest unless there is `no_guest`."""

    host: Environment | None = None
    no_guest: TutorError | None = None

    async def host_environment(self, *, fresh: bool = False) -> tuple[Environment | None, str]:
        return self.host, "" if self.host else "no namespaces here"

    def guest(self, _: Experiment, clock: str, reason: str, paced: bool = False) -> ChosenBackend:
        if self.no_guest is not None:
            raise self.no_guest
        return ChosenBackend(ReplayBackend(reason), "guest", "virtual" if clock == "auto" else clock, reason)


@pytest.fixture(name="machine")
def _machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(selection, "host_environment", machine.host_environment)
    monkeypatch.setattr(selection, "_guest", machine.guest)
    return machine


@pytest.fixture(name="experiments")
def _experiments(build: Build) -> list[Experiment]:
    """One that needs no more than tbf, one with netem, one with an algorithm that few kernels have."""
    return [build(rate="10 Mbit/s"), build(rate="10 Mbit/s", delay="10 ms"), build(algorithm="cdg")]


@pytest.mark.parametrize(
    ("user", "backend", "clock", "lab"),
    [
        (0, "auto", "auto", ("guest", "virtual")),
        (0, "auto", "real", ("guest", "real")),
        (1000, "auto", "auto", ("host", "real")),
        (1000, "guest", "auto", ("guest", "virtual")),
        (0, "host", "auto", ("host", "real")),
    ],
)
async def test_roots_shells_open_in_the_guest(
    machine: Machine,
    build: Build,
    monkeypatch: pytest.MonkeyPatch,
    user: int,
    backend: str,
    clock: str,
    lab: tuple[str, str],
) -> None:
    """Unless the host is asked for: its backend then refuses."""
    machine.host = WHOLE
    monkeypatch.setattr(os, "geteuid", lambda: user)
    found = await choose_for_session(build(), backend, clock)
    assert (found.name, found.clock) == lab


@pytest.mark.parametrize(("host", "name"), [(WHOLE, "host"), (NO_NETEM, "guest"), (None, "guest")])
@pytest.mark.parametrize("clock", ["auto", "real"])
async def test_all_of_the_course_has_one_lab(
    machine: Machine, experiments: list[Experiment], host: Environment | None, name: str, clock: str
) -> None:
    machine.host = host
    found = [await choose(experiment, clock=clock) for experiment in experiments]
    assert {each.name for each in found} == {name}
    assert len({each.clock for each in found}) == 1


async def test_the_reason_names_what_is_missing(machine: Machine, experiments: list[Experiment]) -> None:
    machine.host = NO_NETEM
    found = await choose(experiments[0])
    assert found.reason.startswith("this machine's kernel has no netem, ")
    assert len(found.reason) < 80


async def test_the_host_is_taken_when_it_is_asked_for(
    machine: Machine, experiments: list[Experiment]
) -> None:
    machine.host = NO_NETEM
    assert (await choose(experiments[0], "host")).name == "host"
    with pytest.raises(KernelLacks, match="no netem: use --backend guest"):
        await choose(experiments[1], "host")


async def test_the_guest_is_taken_when_it_is_asked_for(
    machine: Machine, experiments: list[Experiment]
) -> None:
    machine.host = WHOLE
    assert (await choose(experiments[0], "guest")).name == "guest"
    assert (await choose(experiments[0], clock="virtual")).name == "guest"
    with pytest.raises(LabUnavailable, match="no virtual clock"):
        await choose(experiments[0], "host", "virtual")


async def test_without_a_guest_the_host_runs_what_it_can_and_says_why(
    machine: Machine, experiments: list[Experiment]
) -> None:
    machine.host, machine.no_guest = NO_NETEM, LabUnavailable("there is no guest: run `tcptutor setup`")
    found = await choose(experiments[0])
    assert found.name == "host"
    assert "netem" in found.reason
    assert "run `tcptutor setup`" in found.reason
    with pytest.raises(LabUnavailable, match=r"no netem.*run `tcptutor setup`"):
        await choose(experiments[1])
    machine.host = None
    with pytest.raises(LabUnavailable, match="no namespaces here; and there is no guest"):
        await choose(experiments[0])


async def test_what_the_guest_has_no_memory_for_runs_on_the_host(
    machine: Machine, experiments: list[Experiment]
) -> None:
    machine.host, machine.no_guest = NO_NETEM, KernelLacks("a guest of 20 GiB does not fit")
    assert (await choose(experiments[0])).name == "host"
    with pytest.raises(KernelLacks, match="20 GiB"):
        await choose(experiments[1])


def test_the_needs_of_the_course_are_known() -> None:
    """Every queue discipline and algorithm of its pages: run, swept, and set by hand."""
    qdiscs, algorithms = set[str](), set[str]()
    opened, problems = course.read_course()
    assert problems == ()
    for module in opened.modules:
        for step in module.steps:
            for activity in step.activities:
                needed = [getattr(activity, "needs", None), getattr(activity, "experiment", None)]
                for each in [*needed, *getattr(activity, "experiments", ())]:
                    if isinstance(each, Experiment):
                        qdiscs.update(each.qdiscs)
                        algorithms.update(each.congestion_controls)
    assert qdiscs == set(COURSE_QDISCS)
    assert algorithms == set(COURSE_ALGORITHMS)
