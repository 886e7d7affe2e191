"""`tcptutor present --check`: runs are made once and kept, and what will not work is named before the lecture."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import ClassVar

import pytest
from msgspec.structs import replace

from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import LabError, LabUnavailable
from tcptutor.course import outline
from tcptutor.course.outline import Course
from tcptutor.fleet import pool
from tcptutor.install.findings import Finding
from tcptutor.room import check as checked
from tcptutor.room.check import LectureCheck
from tcptutor.room.lecture_file import read_lecture
from tcptutor.room.prepared import PreparedRuns
from tcptutor.room.slides import Lecture
from tcptutor.run import Fidelity, Run
from tcptutor.spec import Experiment
from tests import command

PAGE = '[[slide]]\npage = "parallel-streams/one-lossy-flow"\n'


@pytest.fixture(scope="module")
def course() -> Course:
    return outline.load()


@pytest.fixture
def prepared(tmp_path: Path) -> PreparedRuns:
    return PreparedRuns(tmp_path / "prepared")


@pytest.fixture(autouse=True)
def _comfortable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "36")
    monkeypatch.setenv("TERM", "xterm-256color")


def lecture(folder: Path, course: Course, slides: str = PAGE, minutes: float = 0) -> Lecture:
    file = folder / "lecture.toml"
    file.write_text(f'title = "A lecture"\nminutes = {minutes}\n{slides}')
    return read_lecture(file, course)


def random_loss(course: Course) -> Experiment:
    module = next(module for module in course.modules if module.id == "parallel-streams")
    page = next(step for step in module.steps if step.id == "one-lossy-flow")
    assert page.experiment is not None
    return page.experiment.experiment


class LabOfTest:
    """A lab whose runs are the recordings, changed as a test wants; counts them."""

    made = 0
    change: ClassVar[dict[str, object]] = {}
    error: LabError | None = None

    def __init__(self, backend: str, clock: str) -> None:
        pass

    async def warm(self, experiment: Experiment) -> None:
        pass

    async def run_whole(self, experiment: Experiment) -> Run:
        type(self).made += 1
        if self.error is not None:
            raise self.error
        run = PreparedRuns(Path("/nowhere")).recorded(experiment)
        assert run is not None
        return replace(run, **self.change)

    async def close(self) -> None:
        pass


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> type[LabOfTest]:
    class Lab(LabOfTest):
        pass

    async def here(*_: object) -> pool.Place:
        return pool.Place("guest", "virtual", 1, "")

    monkeypatch.setattr(checked, "Lab", Lab)
    monkeypatch.setattr(checked, "_is_of", lambda run, place: run is not None)
    monkeypatch.setattr(pool, "find_place", here)
    return Lab


async def findings(check: LectureCheck, backend: str = "auto") -> dict[str, Finding]:
    """The findings by name; of a slide with several, the last."""
    async for _ in check.prepare(backend):
        pass
    return {finding.name: finding for finding in check.findings()}


def test_kept_run_is_found_by_settings_and_seed_whatever_its_title(
    course: Course, prepared: PreparedRuns
) -> None:
    experiment = random_loss(course)
    recorded = prepared.recorded(experiment)
    assert recorded is not None
    assert prepared.kept(experiment) is None
    prepared.keep(replace(recorded, id="mine"))
    found = prepared.find(replace(experiment, title="Another title"))
    assert found is not None and found.id == "mine"
    other_seed = replace(experiment, seed=experiment.seed + 1)
    assert prepared.find(other_seed) is None


def test_damaged_kept_run_gives_way_to_the_recording(
    course: Course, prepared: PreparedRuns, tmp_path: Path
) -> None:
    experiment = random_loss(course)
    recorded = prepared.recorded(experiment)
    assert recorded is not None
    prepared.keep(replace(recorded, id="mine"))
    (file,) = (tmp_path / "prepared").glob("*.tcprun")
    file.write_bytes(file.read_bytes()[:200])
    found = prepared.find(experiment)
    assert found is not None and found.id == recorded.id


async def test_runs_are_made_once_and_kept(
    tmp_path: Path, course: Course, prepared: PreparedRuns, lab: type[LabOfTest]
) -> None:
    twice = lecture(tmp_path, course, PAGE + PAGE)
    for _ in range(2):
        found = await findings(LectureCheck(course, twice, prepared=prepared))
        assert (found["slide 1"].status, found["slide 2"].status) == ("ok", "ok")
        assert lab.made == 1
    assert prepared.kept(random_loss(course)) is not None


async def test_failed_cut_and_suspect_runs_are_named_at_their_slide(
    tmp_path: Path, course: Course, prepared: PreparedRuns, lab: type[LabOfTest]
) -> None:
    once = lecture(tmp_path, course)
    lab.error = LabError("the kernel is gone")
    found = await findings(LectureCheck(course, once, prepared=prepared))
    assert found["slide 1"].status == "fail"
    assert "the kernel is gone" in found["slide 1"].text
    lab.error = None
    lab.change = {"complete": False, "note": "cut by a test"}
    found = await findings(LectureCheck(course, once, prepared=prepared))
    assert found["slide 1"].status == "fail"
    assert "cut by a test" in found["slide 1"].text
    assert prepared.kept(random_loss(course)) is None
    lab.change = {"fidelity": Fidelity(status="suspect", reasons=("too slow",))}
    found = await findings(LectureCheck(course, once, prepared=prepared))
    assert found["slide 1"].status == "warn"
    assert "too slow" in found["slide 1"].text


async def test_without_a_lab_recordings_are_shown_and_the_lab_is_missing(
    tmp_path: Path, course: Course, prepared: PreparedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nowhere(*_: object) -> pool.Place:
        raise LabUnavailable("no kernel, no guest")

    monkeypatch.setattr(pool, "find_place", nowhere)
    found = await findings(LectureCheck(course, lecture(tmp_path, course), prepared=prepared))
    assert (found["lab"].status, found["slide 1"].status) == ("fail", "ok")
    monkeypatch.setattr(PreparedRuns, "recorded", lambda *_: None)
    found = await findings(LectureCheck(course, lecture(tmp_path, course), prepared=prepared))
    assert found["slide 1"].status == "fail"


async def test_asked_for_recordings_need_no_lab(
    tmp_path: Path, course: Course, prepared: PreparedRuns
) -> None:
    found = await findings(LectureCheck(course, lecture(tmp_path, course), prepared=prepared), "replay")
    assert "lab" not in found
    assert found["slide 1"].status == "ok"


async def test_missing_extra_is_named_with_its_command_unless_nobody_votes(
    tmp_path: Path, course: Course, prepared: PreparedRuns, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "segno" else find(name, *rest)
    )
    once = lecture(tmp_path, course)
    found = await findings(LectureCheck(course, once, prepared=prepared), "replay")
    assert found["votes"].status == "fail"
    assert "segno" in found["votes"].text
    assert "-m pip install" in found["votes"].remedy
    found = await findings(LectureCheck(course, once, prepared=prepared, has_votes=False), "replay")
    assert "votes" not in found


async def test_flows_are_run_once_and_want_votes(
    tmp_path: Path,
    course: Course,
    prepared: PreparedRuns,
    lab: type[LabOfTest],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flows = lecture(tmp_path, course, '[[slide]]\ntitle = "Who?"\nflows = "parallel-streams/one-window"\n')
    lab.error = LabError("the kernel has no bbr")
    found = await findings(LectureCheck(course, flows, prepared=prepared))
    assert found["slide 1"].status == "fail"
    assert "no bbr" in found["slide 1"].text
    recorded = prepared.recorded(random_loss(course))
    assert recorded is not None
    monkeypatch.setattr(
        PreparedRuns, "recorded", lambda _, experiment: replace(recorded, experiment=experiment)
    )
    lab.error = None
    found = await findings(LectureCheck(course, flows, prepared=prepared))
    assert found["slide 1"].status == "ok"
    found = await findings(LectureCheck(course, flows, prepared=prepared, has_votes=False))
    assert found["slide 1"].status == "warn"


async def test_time_and_text_that_do_not_fit_are_named(
    tmp_path: Path, course: Course, prepared: PreparedRuns
) -> None:
    wall = "\\n".join(["a line of text"] * 40)
    slides = f'{PAGE}[[slide]]\ntitle = "Wall"\ntext = "{wall}"\n'
    found = await findings(
        LectureCheck(course, lecture(tmp_path, course, slides, 5), prepared=prepared), "replay"
    )
    assert (found["time"].status, found["slide 2"].status) == ("warn", "warn")
    found = await findings(
        LectureCheck(course, lecture(tmp_path, course, PAGE, 60), prepared=prepared), "replay"
    )
    assert found["time"].status == "ok"


@pytest.mark.parametrize(
    ("size", "kind", "status"),
    [
        ((120, 36), "xterm-256color", "ok"),
        ((100, 30), "xterm-256color", "warn"),
        ((79, 24), "xterm-256color", "fail"),
        ((120, 36), "dumb", "fail"),
    ],
)
async def test_terminal_is_judged_from_the_back_row(
    tmp_path: Path,
    course: Course,
    prepared: PreparedRuns,
    monkeypatch: pytest.MonkeyPatch,
    size: tuple[int, int],
    kind: str,
    status: str,
) -> None:
    monkeypatch.setenv("COLUMNS", str(size[0]))
    monkeypatch.setenv("LINES", str(size[1]))
    monkeypatch.setenv("TERM", kind)
    answer = Finding("terminal", "warn" if kind == "dumb" else "ok", kind, "")
    monkeypatch.setattr(checked, "check_terminal", lambda: [answer, Finding("locale", "ok", "")])
    found = await findings(LectureCheck(course, lecture(tmp_path, course), prepared=prepared), "replay")
    assert found["terminal"].status == status


def test_command_says_what_will_not_work_and_ends_with_1(
    tmp_path: Path, course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    lecture(tmp_path, course)
    words = ("present", "--lecture", tmp_path / "lecture.toml", "--check", "--backend", "replay")
    assert command.here(*words).returncode == 0
    (tmp_path / "lecture.toml").write_text('title = "x"\n[[slide]]\ntitle = "Who?"\nflows = "one-window"\n')
    done = command.here(*words)
    assert done.returncode == 1
    assert "slide 1" in done.stdout
    (tmp_path / "lecture.toml").write_text('title = "x"\n[[slide]]\npage = "9.9"\n')
    done = command.here(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


async def test_runs_of_the_guest_are_kept_and_not_made_again(
    tmp_path: Path, course: Course, prepared: PreparedRuns, snapshots: Snapshots
) -> None:
    assert snapshots
    short = lecture(tmp_path, course, '[[slide]]\npage = "tcp-basics/two-segments-at-a-time"\n')
    for made in (1, 0):
        check = LectureCheck(course, short, prepared=prepared)
        async for _ in check.prepare("guest", "virtual"):
            pass
        assert check.made == made
        assert all(finding.status != "fail" for finding in check.findings())
