"""One conducted run: what is kept of it, and in which order it ends, whatever ends it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from tcptutor.base.errors import JournalError, KernelLacks, LabError, LabUnavailable
from tcptutor.run import Fidelity, Finished, Run, load
from tcptutor.runs.conduct import STOPPED, ConductedRun
from tcptutor.runs.store import RunStore
from tcptutor.wire.protocol import Event, Samples
from tests import patience
from tests.install.command import ROOT, needs_user_namespaces
from tests.runs.lab import A_RUN, EXPERIMENT, HERE, READY, WHOLE, ScriptedLab, samples


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def names(store: RunStore) -> list[str]:
    assert store.folder is not None
    return sorted(file.name for file in store.folder.iterdir()) if store.folder.is_dir() else []


def conducted_by(store: RunStore, *script: Event | Exception | asyncio.Event) -> ConductedRun:
    return ConductedRun(ScriptedLab(script), EXPERIMENT, store)


async def show(conducted: ConductedRun) -> list[Event]:
    async with conducted:
        return [event async for event in conducted]


async def test_events_come_as_the_lab_gives_them_and_the_file_has_the_run(store: RunStore) -> None:
    lab = ScriptedLab()
    conducted = ConductedRun(lab, EXPERIMENT, store)
    assert conducted.run.environment.backend == "", "the run is there before the lab"
    assert await show(conducted) == list(A_RUN)
    assert lab.ended == ["whole"]
    assert not lab.closed, "whoever brought the lab up closes it"
    assert conducted.file == store.file(conducted.run.id)
    assert conducted.file is not None
    assert names(store) == [conducted.file.name], "no part is left"
    kept = load(conducted.file)
    assert (kept.environment, kept.complete, kept.note, kept.experiment_s) == (HERE, True, "", 3.0)
    assert [sample.t for sample in kept.samples] == [1.0, 2.0, 3.0]
    assert kept == conducted.run
    assert conducted.unsaved == ""


async def test_what_is_shown_is_kept_already(store: RunStore) -> None:
    conducted = conducted_by(store, *A_RUN)
    lines = []
    async with conducted:
        async for _ in conducted:
            assert store.folder is not None
            (part,) = store.folder.glob("*.part")
            lines.append(part.read_bytes().count(b"\n"))
    assert lines == [2, 3, 4, 5, 6, 7], "what is run, and a line for each event"


async def test_cancelled_in_the_middle_it_keeps_what_arrived(store: RunStore) -> None:
    there = asyncio.Event()
    lab = ScriptedLab((READY, samples(1.0), samples(2.0), there))
    conducted = ConductedRun(lab, EXPERIMENT, store)
    task = asyncio.create_task(show(conducted))
    await there.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert lab.ended == ["stopped"]
    assert conducted.file is not None
    kept = load(conducted.file)
    assert (kept.complete, kept.note, len(kept.samples)) == (False, STOPPED, 2)


async def test_whoever_cancels_may_say_why(store: RunStore) -> None:
    there = asyncio.Event()
    conducted = ConductedRun(ScriptedLab((READY, samples(1.0), there)), EXPERIMENT, store, "stopped by you")
    task = asyncio.create_task(show(conducted))
    await there.wait()
    conducted.stopped = "tcptutor was closed"
    task.cancel()
    await asyncio.wait({task})
    assert conducted.run.note == "tcptutor was closed"


async def test_cancelled_by_its_own_viewer_the_lab_is_stopped_before_the_file_is_written(
    tmp_path: Path,
) -> None:
    order: list[str] = []

    class Lab(ScriptedLab):
        async def run(self, experiment):  # type: ignore[no-untyped-def, override]
            try:
                async for event in super().run(experiment):
                    yield event
            finally:
                order.append("stopped")

    class Store(RunStore):
        def finish(self, run: Run) -> str:
            order.append("written")
            return super().finish(run)

    conducted = ConductedRun(Lab(), EXPERIMENT, Store(tmp_path))
    with pytest.raises(ZeroDivisionError):
        async with conducted:
            async for event in conducted:
                if isinstance(event, Samples):
                    raise ZeroDivisionError("a defect of the screen")
    assert order == ["stopped", "written"]
    assert conducted.run.note == "ZeroDivisionError: a defect of the screen"
    assert conducted.file is not None


class HeldStore(RunStore):
    """Is at work on a run's file until it may go on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.at_work, self.go_on = threading.Event(), threading.Event()

    def finish(self, run: Run) -> str:
        self.at_work.set()
        assert self.go_on.wait(30), "the event loop stood still"
        return super().finish(run)

    async def begun(self) -> None:
        assert await asyncio.to_thread(self.at_work.wait, 30)


async def test_the_event_loop_goes_on_while_the_file_is_written(tmp_path: Path) -> None:
    store = HeldStore(tmp_path)
    conducted = ConductedRun(ScriptedLab(), EXPERIMENT, store)
    task = asyncio.create_task(show(conducted))
    await store.begun()
    assert not task.done()
    store.go_on.set()
    await task
    assert conducted.file is not None


async def test_cancelled_while_the_file_is_written_it_is_whole(tmp_path: Path) -> None:
    store, there = HeldStore(tmp_path), asyncio.Event()
    conducted = ConductedRun(ScriptedLab((READY, samples(1.0), there)), EXPERIMENT, store)
    task = asyncio.create_task(show(conducted))
    await there.wait()
    task.cancel()
    await store.begun()
    for _ in range(3):  # an impatient student
        task.cancel()
        await asyncio.sleep(0)
    store.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert conducted.file is not None
    assert len(load(conducted.file).samples) == 1


async def test_a_lab_that_dies_in_the_middle(store: RunStore) -> None:
    conducted = conducted_by(store, READY, samples(1.0), LabError("the guest has ended: run it again"))
    with pytest.raises(LabError, match="the guest has ended"):
        await show(conducted)
    assert conducted.file is not None
    kept = load(conducted.file)
    assert (kept.complete, kept.note, len(kept.samples)) == (False, "the guest has ended: run it again", 1)


@pytest.mark.parametrize(
    "script",
    [
        (LabUnavailable("no lab here: run `tcptutor setup`"),),
        (READY, KernelLacks("no lab here: this kernel has no netem")),
        (READY, LabError("no lab here: its agent died")),
    ],
    ids=["no lab", "no such kernel", "died before the first sample"],
)
async def test_without_a_sample_nothing_stays(store: RunStore, script: Sequence[Event | Exception]) -> None:
    conducted = conducted_by(store, *script)
    with pytest.raises((LabError, LabUnavailable), match="no lab here"):
        await show(conducted)
    assert (conducted.file, conducted.unsaved) == (None, "")
    assert names(store) == []
    assert conducted.run.note.startswith("no lab here")


async def test_a_run_whose_end_had_arrived_is_whole_whatever_follows(store: RunStore) -> None:
    conducted = conducted_by(store, READY, samples(3.0), WHOLE, LabError("the guest did not end in order"))
    with pytest.raises(LabError):
        await show(conducted)
    assert (conducted.run.complete, conducted.run.note) == (True, "")


async def test_a_run_that_the_lab_itself_cut_short_says_so(store: RunStore) -> None:
    conducted = conducted_by(
        store, READY, samples(1.0), Finished((), Fidelity(status="valid"), 1.0, complete=False)
    )
    await show(conducted)
    assert (conducted.run.complete, conducted.run.note) == (False, "stopped")


@pytest.mark.parametrize(("seconds", "status"), [(3.0, "unchecked"), (0.5, "invalid")])
async def test_a_run_that_ended_before_it_was_checked_is_not_called_valid(
    store: RunStore, seconds: float, status: str
) -> None:
    conducted = conducted_by(store, READY, samples(seconds), LabError("the guest was killed"))
    with pytest.raises(LabError):
        await show(conducted)
    assert conducted.file is not None
    kept = load(conducted.file).fidelity
    assert kept.status == status
    assert "the guest was killed" in kept.reasons[0]


async def test_two_runs_one_after_the_other(store: RunStore) -> None:
    lab = ScriptedLab()
    first, second = (ConductedRun(lab, EXPERIMENT, store) for _ in range(2))
    await show(first)
    lab.script = (READY, samples(7.0), WHOLE)
    await show(second)
    assert first.run.id != second.run.id
    kept = [load(each.file) for each in (first, second) if each.file]
    assert [[sample.t for sample in run.samples] for run in kept] == [[1.0, 2.0, 3.0], [7.0]]
    assert len(names(store)) == 2


async def test_without_a_store_it_is_kept_nowhere() -> None:
    conducted = ConductedRun(ScriptedLab(), EXPERIMENT)
    await show(conducted)
    assert conducted.run.complete
    assert (conducted.file, conducted.unsaved) == (None, "")


async def test_a_journal_that_cannot_save_is_said_and_the_run_stays(store: RunStore) -> None:
    class Refusing(RunStore):
        def finish(self, run: Run) -> str:
            raise JournalError("the run could not be saved, the disk is full")

    conducted = ConductedRun(ScriptedLab(), EXPERIMENT, Refusing(store.folder))
    await show(conducted)
    assert conducted.run.complete
    assert (conducted.file, conducted.unsaved) == (None, "the run could not be saved, the disk is full")


FULL = """
import asyncio, sys
from pathlib import Path
from tcptutor.runs.conduct import ConductedRun
from tcptutor.runs.store import RunStore
from tests.runs.lab import EXPERIMENT, ScriptedLab
from tests.runs.test_run import show
conducted = ConductedRun(ScriptedLab(), EXPERIMENT, RunStore(Path(sys.argv[1])))
asyncio.run(show(conducted))
print(conducted.run.complete, len(conducted.run.samples), conducted.file)
print(conducted.unsaved)
"""


@needs_user_namespaces
def test_a_full_disk(tmp_path: Path) -> None:
    script = (
        'mount -t tmpfs -o size=16k none "$1"; head -c 16384 /dev/zero > "$1/filler"; exec "$2" -c "$3" "$1"'
    )
    done = subprocess.run(
        [*ROOT, "--mount", "sh", "-c", script, "-", tmp_path, sys.executable, FULL],
        capture_output=True, text=True, check=False, timeout=patience.seconds(60),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    run, why = done.stdout.splitlines()
    assert run == "True 3 None"
    assert "No space left on device: free some space" in why
