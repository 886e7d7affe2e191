"""`tcptutor lint --run`: the claims of the course against runs, which are made once and kept."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import tomllib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from tcptutor.base import places, units
from tcptutor.base.errors import LabError, TutorError
from tcptutor.course.measurements import MeasuredRun
from tcptutor.fleet.pool import Place
from tcptutor.run import Fidelity, Run, load
from tcptutor.spec import Experiment
from tests.command import here

PAGE = "parallel-streams/one-small-window"
BESIDE = "parallel-streams/eight-small-windows"
RECORDED = [load(places.assets() / f"recorded/{name}.tcprun") for name in (BESIDE, PAGE)]
VARIANTS = re.compile(r"^(same_variant_as = .*\n|\[variants\]\n([^\[\n].*\n)*)", re.MULTILINE)
"""What makes variants of a page, in its front matter."""
Runs = Callable[..., AsyncIterator[tuple[int, Run | TutorError]]]


@pytest.fixture
def one_module(tmp_path: Path) -> Path:
    """One module of the course: the linter reads all that there is for each page."""
    copy, shipped = tmp_path / "lessons", places.lessons()
    (folder,) = shipped.glob(f"*-{PAGE.partition('/')[0]}")
    shutil.copytree(folder, copy / folder.name)
    for file in ("course.toml", "glossary.toml"):
        shutil.copy(shipped / file, copy)
    return copy


@pytest.fixture
def lessons(one_module: Path) -> Path:
    """One module of the course, of which two pages have the settings that were recorded, and no variants."""
    copy = one_module
    values: dict[str, list[str]] = {}
    for name in (PAGE, BESIDE):
        page = next(copy.glob(f"*/*-{name.partition('/')[2]}.md"))
        text = page.read_text(encoding="utf-8")
        values |= tomllib.loads(text.split("+++")[1])["variants"]
        for key, each in values.items():
            text = text.replace(f"{{variant.{key}}}", each[0])
        page.write_text(VARIANTS.sub("", text), encoding="utf-8")
    return copy


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the experiments that a lab has run: ours gives recorded runs, at once."""
    names: list[str] = []

    async def runs(
        experiments: Iterable[Experiment], _: Place
    ) -> AsyncIterator[tuple[int, Run | TutorError]]:
        for number, experiment in enumerate(experiments):
            names.append(experiment.name)
            found = (run for run in RECORDED if like(run.experiment, experiment))
            yield number, next(found, LabError("the guest ended"))

    _use(monkeypatch, tmp_path, runs)
    return names


def rtt_of_one_flow() -> float:
    """The mean of the recorded run, s."""
    (run,) = (MeasuredRun(run) for run in RECORDED if run.experiment.total_streams == 1)
    (flow,) = run.measured.flows
    return flow.mean_rtt_s


def like(one: Experiment, other: Experiment) -> bool:
    """Whether they are runs of one experiment, whatever their seeds."""
    return (one.total_streams, one.flows.duration) == (other.total_streams, other.flows.duration)


def _use(monkeypatch: pytest.MonkeyPatch, folder: Path, runs: Runs) -> None:
    async def find(experiments: Sequence[Experiment], *_: object) -> Place:
        return Place("guest", "virtual", 2, "2 guests at a time")

    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr("tcptutor.backends.guest.snapshots.Snapshots.version", lambda _: "test")
    monkeypatch.setattr("tcptutor.fleet.pool.find_place", find)
    monkeypatch.setattr("tcptutor.fleet.pool.runs", runs)


def test_a_run_is_made_once_and_asked_by_all_claims(lessons: Path, made: list[str]) -> None:
    done = here("lint", lessons, "--run", PAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "none contradicted (3 runs made, 0 from the cache)" in done.stdout
    line = next(line for line in done.stdout.splitlines() if '"an RTT of 40 ms"' in line)
    assert line.startswith(f"lessons/{next(lessons.glob('*/*-one-small-window.md')).relative_to(lessons)}:")
    assert line.rpartition('"')[2].split() == [*units.seconds(rtt_of_one_flow()).split(), "holds"]
    assert made == ["parallel-streams/small-window"] * 3
    assert "3 runs to make, " in done.stderr
    assert " s of the lab's time, 2 guests at a time" in done.stderr
    assert "0 runs made, 3 from the cache" in here("lint", lessons, "--run", PAGE).stdout
    # The page beside it compares with the same runs: these are not made again.
    assert "3 runs made, 2 from the cache" in here("lint", lessons, "--run", BESIDE).stdout
    assert len(made) == 6


def test_an_author_asks_for_more_seeds_than_a_claim_does(lessons: Path, made: list[str]) -> None:
    here("lint", lessons, "--run", PAGE)
    done = here("lint", lessons, "--run", PAGE, "--seeds", 5, "--json")
    told = json.loads(done.stdout)
    assert told["runs"] == {"needed": 5, "made": 2, "failed": []}
    assert {len(set(each["seeds"])) for each in told["claims"] if each["seeds"]} == {5}
    assert here("lint", lessons, "--run", PAGE, "--seeds", 0).returncode == 2


def test_a_page_whose_own_run_is_suspect_is_refused_with_what_to_change(
    lessons: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reason = "only 5 loss events: their mean says little, take a longer duration or more loss"
    suspect = Fidelity(status="suspect", reasons=(reason,))
    monkeypatch.setattr("tests.cli.test_lint.RECORDED", [replace(run, fidelity=suspect) for run in RECORDED])
    done = here("lint", lessons, "--run", PAGE)
    assert done.returncode == 1
    (line,) = (line for line in done.stdout.splitlines() if '"the run"' in line)
    assert f"suspect with seed 1: {reason}" in line
    assert "DOES NOT HOLD" in line


def test_a_claim_that_does_not_hold_is_told_with_what_was_measured(lessons: Path, made: list[str]) -> None:
    page = next(lessons.glob("*/*-one-small-window.md"))
    page.write_text(
        page.read_text(encoding="utf-8").replace('value = "66 %"', 'value = "60 %"'), encoding="utf-8"
    )
    done = here("lint", lessons, "--run", PAGE)
    assert done.returncode == 1
    assert re.search(r" 6[5-7](\.\d)? %  DOES NOT HOLD: 60 % within 3 %", done.stdout)
    assert "1 contradicted" in done.stdout


def test_another_setting_is_another_run(lessons: Path, made: list[str]) -> None:
    here("lint", lessons, "--run", PAGE)
    file = next(lessons.glob("*/experiments/small-window.toml"))
    file.write_text(file.read_text(encoding="utf-8").replace('"10 s"', '"11 s"'), encoding="utf-8")
    done = here("lint", lessons, "--run", PAGE)
    assert done.returncode == 1
    assert "the guest ended  DOES NOT HOLD" in done.stdout
    assert len(made) == 6


def test_programs_get_one_document(lessons: Path, made: list[str]) -> None:
    done = here("lint", lessons, "--run", PAGE, "--json")
    told = json.loads(done.stdout)
    assert (done.stderr, told["problems"], told["contradicted"], told["not_judged"]) == ("", [], 0, 0)
    assert told["runs"] == {"needed": 3, "made": 3, "failed": []}
    rtt = next(each for each in told["claims"] if each["quantity"] == "rtt")
    assert rtt["page"] == PAGE
    assert rtt["measured"] == [pytest.approx(rtt_of_one_flow())] * 2
    assert rtt["holds"] is True


def test_a_page_with_variants_is_judged_with_each_of_them(one_module: Path, made: list[str]) -> None:
    told = json.loads(here("lint", one_module, "--run", PAGE, "--json").stdout)
    assert told["runs"]["needed"] == 9
    windows = [each["settings"]["window"] for each in told["claims"] if each["quantity"] == "rtt"]
    (page,) = one_module.glob("*/*-one-small-window.md")
    assert windows == tomllib.loads(page.read_text(encoding="utf-8").split("+++")[1])["variants"]["window"]


def test_problems_of_other_pages_are_not_told(lessons: Path, made: list[str]) -> None:
    other = next(lessons.glob("*/*-one-lossy-flow.md"))
    other.write_text(
        other.read_text(encoding="utf-8").replace("The link is about", "7 ms. The link is about"),
        encoding="utf-8",
    )
    assert here("lint", lessons, "--run", PAGE).returncode == 0
    assert f"{other.name}:" in here("lint", lessons).stdout


def test_what_was_run_before_it_is_stopped_is_kept(
    lessons: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []

    async def runs(experiments: Sequence[Experiment], _: Place) -> AsyncIterator[tuple[int, Run]]:
        try:
            yield 0, RECORDED[0]
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            closed.append(True)

    _use(monkeypatch, tmp_path, runs)
    done = here("lint", lessons, "--run", BESIDE)
    assert done.returncode == 1
    assert done.stderr.endswith("tcptutor: stopped; 1 run of 5 finished: repeat the command to continue\n")
    assert closed
    assert len(list((tmp_path / "cache/tcptutor/measured").iterdir())) == 1


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("parallel-stream", "no module 'parallel-stream': did you mean parallel-streams?"),
        ("parallel-streams/one-small", "no page 'one-small': did you mean one-small-window?"),
    ],
)
def test_a_page_that_is_not_there_is_one_line(target: str, said: str) -> None:
    done = here("lint", "--run", target)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"tcptutor: {said}\n")


def test_without_a_lab_it_says_so_in_one_line(
    one_module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = here("lint", one_module, "--run", PAGE)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "tcptutor: the guest image is not built yet: run `tcptutor setup`\n"


def test_a_damaged_run_is_made_again(lessons: Path, made: list[str], tmp_path: Path) -> None:
    here("lint", lessons, "--run", PAGE)
    file = next((tmp_path / "cache/tcptutor/measured").iterdir())
    file.write_bytes(b"\x1f\x8b nothing")
    assert "repeat the command to make it again" in here("lint", lessons, "--run", PAGE).stdout
    done = here("lint", lessons, "--run", PAGE)
    assert done.returncode == 0
    assert "1 run made" in done.stdout
