"""Recorded runs, played through the same interface; and the recordings that ship with us."""

from __future__ import annotations

import json
import time
from pathlib import Path

import msgspec
import pytest

from tcptutor.analysis import report
from tcptutor.backends import replay, selection
from tcptutor.backends.lab import Lab
from tcptutor.backends.replay import ReplayBackend
from tcptutor.base.errors import ImageDamaged, LabUnavailable
from tcptutor.course import experiments
from tcptutor.course.page_sweep import page_cell
from tcptutor.run import Finished, load
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Ready, Samples
from tests import recorded
from tests.backends.play import play
from tests.command import here

USES, SWEEPS, CHALLENGES = recorded.uses(), recorded.sweeps(), recorded.challenges()
NAME = "parallel-streams/one-small-window"


@pytest.fixture
def wanted() -> Experiment:
    return USES[NAME]


async def test_a_recorded_run_is_played_and_says_that_it_is_one(wanted: Experiment) -> None:
    run = await play(ReplayBackend("there is no lab", speed=1000), wanted)
    original = load(replay.recordings_folder() / f"{NAME}.tcprun")
    assert run.complete
    assert (run.samples, run.flows) == (original.samples, original.flows)
    assert run.environment.backend == "replay"
    assert run.environment.kernel == original.environment.kernel
    for word in ("a replay of a run recorded 20", "in the guest, virtual clock, Linux 6.", "there is no lab"):
        assert word in run.environment.reason
        assert word in run.note
    assert report(run) == report(original)


async def test_it_is_played_at_ten_times_the_lab_s_pace_at_most(wanted: Experiment) -> None:
    began = time.monotonic()
    async for event in ReplayBackend("there is no lab").run(wanted):
        if isinstance(event, Samples):
            assert time.monotonic() - began >= event.t / replay.SPEED
            if event.t > 3:
                break


@pytest.mark.parametrize(
    ("change", "says"),
    [({"streams": "3"}, "streams 1"), ({"window": "1 MiB"}, "window 66 kB")],
)
async def test_what_is_not_recorded_is_refused_with_what_is(change: dict[str, str], says: str) -> None:
    other = experiments.build(USES[NAME].name, change)
    with pytest.raises(LabUnavailable, match=says) as caught:
        await play(ReplayBackend("there is no lab"), other)
    assert "there is no lab; and " in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_another_seed_is_another_experiment(wanted: Experiment) -> None:
    with pytest.raises(LabUnavailable, match="seed 1"):
        await play(ReplayBackend(replay.REQUESTED), msgspec.structs.replace(wanted, seed=77))


async def test_an_installation_without_recordings_has_no_replay(wanted: Experiment, tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "damaged.tcprun").write_bytes(b"half")
    with pytest.raises(LabUnavailable, match="no recorded runs"):
        await ReplayBackend("there is no lab", tmp_path).open()


async def test_where_neither_kernel_nor_guest_can_run_it_is_replayed_with_both_reasons(
    wanted: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def no_host(*, fresh: bool = False) -> tuple[None, str]:
        return None, "this machine gives no namespaces"

    def no_guest(*_: object) -> None:
        raise ImageDamaged("the guest image is not built yet: run `tcptutor setup`")

    monkeypatch.setattr(selection, "host_environment", no_host)
    monkeypatch.setattr("tcptutor.backends.guest.image.Image.check", no_guest)
    monkeypatch.setattr(replay, "SPEED", 1000)
    lab = Lab()
    here = await lab.warm()
    assert here.backend == "replay"
    assert "no namespaces; and the guest image is not built yet" in here.reason
    kinds = [type(event) async for event in lab.run(wanted)]
    assert (kinds[0], kinds[-1]) == (Ready, Finished)
    await lab.close()
    for backend, clock in (("guest", "auto"), ("auto", "real")):
        with pytest.raises(LabUnavailable):
            await Lab(backend, clock).warm()


def test_the_command_says_that_nothing_was_run(without_state: Path, wanted: Experiment) -> None:
    done = here("run", wanted.name, "--backend", "replay")
    assert done.returncode == 0, done.stderr
    assert "NOT RUN    a replay of a run recorded" in done.stdout
    refused = here("run", wanted.name, "--backend", "replay", "--set", "streams=3")
    assert refused.returncode == 3
    assert refused.stderr.count("\n") == 1
    assert not list(without_state.glob("**/*.part"))


def test_every_page_has_its_recording_and_there_are_no_others() -> None:
    files = {
        str(path.relative_to(replay.recordings_folder()).with_suffix(""))
        for path in replay.recordings_folder().glob("*/*")
    }
    told = set(json.loads(recorded.EXPECTED.read_text()))
    assert files == {*USES, *SWEEPS, *CHALLENGES} == told, f"record them again: {recorded.COMMAND}"


@pytest.mark.parametrize("name", USES)
def test_a_recording_is_of_the_page_s_experiment_small_and_explained_as_the_whole_run_was(name: str) -> None:
    again = f"record it again: {recorded.COMMAND} {name.partition('/')[0]}"
    file = replay.recordings_folder() / f"{name}.tcprun"
    assert file.exists(), again
    run = load(file)
    assert replay.same_experiment(run.experiment, USES[name]), again
    assert run.complete
    assert run.fidelity.status == "valid"
    assert recorded.explanation(run) == json.loads(recorded.EXPECTED.read_text())[name], again
    assert file.stat().st_size < 100_000


def test_every_sweep_has_its_recordings_small_and_with_what_the_whole_runs_measured() -> None:
    expected = json.loads(recorded.EXPECTED.read_text())
    for name, sweep in SWEEPS.items():
        again = f"record it again: {recorded.COMMAND} {name}"
        wanted = recorded.cells(sweep)
        files = {path.stem: path for path in (replay.recordings_folder() / name).iterdir()}
        assert files.keys() == wanted.keys(), again
        assert sum(path.stat().st_size for path in files.values()) < recorded.SWEEP_BYTES, again
        for (key, (at, experiment)), figure in zip(wanted.items(), expected[name], strict=True):
            run = load(files[key])
            assert replay.same_experiment(run.experiment, experiment), again
            assert recorded.is_near(page_cell(sweep, at, run).figure, figure), again


def test_every_challenge_has_its_start_and_its_solution_small_and_judged_as_the_whole_runs_were() -> None:
    expected = json.loads(recorded.EXPECTED.read_text())
    for name, challenge in CHALLENGES.items():
        again = f"record it again: {recorded.COMMAND} {name}"
        wanted = recorded.tries(challenge)
        files = {path.stem: path for path in (replay.recordings_folder() / name).iterdir()}
        assert files.keys() == wanted.keys(), again
        runs = {key: load(path) for key, path in files.items()}
        for key, experiment in wanted.items():
            assert replay.same_experiment(runs[key].experiment, experiment), again
            assert runs[key].fidelity.status == "valid", again
            assert recorded.reached(challenge, runs[key], runs["start"]) == expected[name][key], again
            assert files[key].stat().st_size < 100_000, again
