"""The bench without its screen: settings, what contradicts itself, the command line, what is kept."""

from __future__ import annotations

import random
import shlex
from pathlib import Path

import msgspec
import pytest

from tcptutor.base import places
from tcptutor.base.errors import JournalError, UsageError
from tcptutor.commands.group import run as run_command
from tcptutor.course import experiments, load
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.experiments import Catalogue, overrides_of, rebuilt, same_settings
from tcptutor.journal.saved import LONGEST_NAME, Benches, SavedBench
from tcptutor.spec import Experiment
from tcptutor.study.live import ComparisonRun
from tcptutor.ui.knobs import GROUPS
from tcptutor.ui.workbench import MAX_COMPARISONS, Workbench

CATALOGUE = Catalogue(places.lessons())


@pytest.fixture
def bench() -> Workbench:
    bench = Workbench(CATALOGUE)
    bench.begin()
    return bench


def typed(command: str) -> Experiment:
    """What `tcptutor run` would run for that line, by its own options."""
    words = shlex.split(command)
    assert words[:2] == ["tcptutor", "run"]
    given = run_command.make_context("run", words[2:]).params
    return experiments.build(given["experiment"], given["settings"], given["seed"], scale=given["scale"])


def test_the_command_line_runs_what_the_knobs_say(bench: Workbench) -> None:
    bench.set("loss", "1 %")
    bench.set("changes", "10 s rate=5 Mbit/s; 20 s link=down; 21 s link=up")
    bench.set("sysctl", "tcp_rmem = 4096 131072 6291456")
    bench.set("queue", "2 BDP")
    bench.set("seed", "7")
    assert bench.problem is None
    assert bench.command.startswith(
        "tcptutor run parallel-streams/random-loss --set loss=1% --set 'changes=10 s"
    )
    assert bench.command.endswith("--set queue=2BDP --seed 7")
    assert typed(bench.command) == bench.experiment


@pytest.mark.parametrize("chance", range(8))
def test_wherever_the_knobs_are_turned_the_command_line_says_so(bench: Workbench, chance: int) -> None:
    drawn = random.Random(chance)
    bench.use_experiment(drawn.choice(CATALOGUE.names))
    for _ in range(40):
        bench.move(drawn.randrange(40))
        bench.turn(bench.selected, drawn.choice((1, -1)))
        if bench.problem is not None:
            bench.reset(bench.selected)
        if bench.problem is None:
            assert typed(bench.command) == bench.experiment


def test_every_experiment_of_the_course_can_be_taken(bench: Workbench) -> None:
    for name in CATALOGUE.names:
        for scale in ("bench", "paper"):
            try:
                experiment = CATALOGUE.build(name, {"loss": "2 %"}, 5, scale)
            except UsageError:
                continue  # no values of its source, or loss that it cannot have
            bench.start_from(experiment)
            assert same_settings(bench.experiment, experiment)
            assert typed(bench.command) == bench.experiment


def test_the_experiment_of_every_run_page_can_be_taken(bench: Workbench) -> None:
    pages = [
        (f"{module.id}/{step.id}", activity.experiment)
        for module in load().modules
        for step in module.steps
        for activity in step.activities
        if isinstance(activity, RunActivity | ChallengeActivity)
    ]
    assert len(pages) > 40
    untaken = []
    for page, experiment in pages:
        seeded = msgspec.structs.replace(experiment, seed=4_000_000_000)
        try:
            bench.start_from(seeded)
        except UsageError as error:
            untaken.append(f"{page}: {error}")
            continue
        if not (same_settings(bench.experiment, seeded) and same_settings(typed(bench.command), seeded)):
            untaken.append(page)
    assert untaken == []


def test_a_built_in_default_over_another_value_of_the_file_is_a_setting() -> None:
    own = CATALOGUE.build("tcp-basics/long-path")
    assert own.flows.warmup != 2.0
    page = CATALOGUE.build("tcp-basics/long-path", {"duration": "6 s", "warmup": "2 s"})
    assert overrides_of(page, CATALOGUE) == {"duration": "6 s", "warmup": "2 s"}


def test_what_stands_as_in_the_file_and_would_follow_now_is_said() -> None:
    own = CATALOGUE.build("random-loss")
    fixed = CATALOGUE.build("random-loss", {"rate": "50Mbit/s", "queue": f"{own.path.queue} bytes"})
    assert overrides_of(fixed, CATALOGUE) == {"rate": "50 Mbit/s", "queue": "625 kB"}
    follows = CATALOGUE.build("random-loss", {"rate": "50Mbit/s"})
    assert overrides_of(follows, CATALOGUE) == {"rate": "50 Mbit/s"}
    assert rebuilt(msgspec.structs.replace(fixed, name="by-hand"), CATALOGUE) is None


def test_what_contradicts_itself_is_told_at_its_knob_and_the_last_that_could_be_run_stays(
    bench: Workbench,
) -> None:
    before = bench.experiment
    bench.set("jitter", "900 ms")
    assert bench.problem is not None
    assert (bench.problem.knob, bench.experiment) == ("jitter", before)
    assert "larger than the delay" in bench.problem.reason
    assert bench.text("jitter") == "900 ms"
    with pytest.raises(UsageError, match="not saved: jitter"):
        bench.saved_bench("x")
    bench.set("delay", "2 s")
    assert bench.problem is None
    assert bench.experiment.path.jitter == 0.9


def test_every_knob_that_cannot_be_read_is_marked(bench: Workbench) -> None:
    bench.set("rate", "0")
    bench.set("delay", "5 apples")
    bench.set("loss", "1 %")
    assert bench.invalid == {"rate", "delay"}
    bench.set("rate", "20 Mbit/s")
    assert bench.invalid == {"delay"}
    bench.reset("delay")
    assert bench.invalid == frozenset()


@pytest.mark.parametrize(
    ("knob", "text", "says"),
    [
        ("loss", "95 %", "out of bounds: 0 % to 75 %"),
        ("loss", "lots", "not a number with a unit"),
        ("algorithm", "renoo", "did you mean reno"),
        ("seed", "-1", "out of bounds: a whole number"),
        ("sysctl", "ip_forward=1", "write one like tcp_sack=0"),
        ("sysctl", "tcp_sack", "write one like tcp_sack=0"),
    ],
)
def test_what_is_typed_wrong_is_told(bench: Workbench, knob: str, text: str, says: str) -> None:
    bench.selected = knob
    bench.set(knob, text)
    assert bench.problem is not None
    assert bench.problem.knob == knob
    assert says in bench.problem.reason


def test_a_turn_of_a_knob_that_was_typed_wrong_goes_on_from_the_last_value(bench: Workbench) -> None:
    bench.set("loss", "95 %")
    assert bench.turn("loss", 1)
    assert bench.problem is None
    assert bench.experiment.path.loss == 0.002


def test_there_and_back_nothing_is_set(bench: Workbench) -> None:
    bench.turn("rate", 1)
    assert bench.is_changed("rate")
    assert bench.experiment.path.queue == 2 * bench.original.path.queue, "it is one BDP, and follows"
    bench.turn("rate", -1)
    assert bench.settings == {}
    assert not bench.turn("changes", 1)


def test_nothing_typed_sets_it_back(bench: Workbench) -> None:
    bench.set("loss", "1 %")
    bench.set("loss", " ")
    assert bench.settings == {}
    bench.set("loss", "1 %")
    bench.set("mtu", "9000")
    bench.reset_all()
    assert same_settings(bench.experiment, bench.original)


def test_all_knobs_are_come_to_over_the_ends_of_groups(bench: Workbench) -> None:
    start, seen = bench.selected, []
    while not seen or bench.selected != start:
        seen.append(bench.selected)
        bench.move(1)
    assert seen == [knob for group in GROUPS for knob in bench.knobs(group)]
    bench.move(-1)
    assert bench.selected == seen[-1]
    bench.move_group(1)
    assert bench.selected == start


def test_the_same_run_again_leaves_the_knobs_as_they_were(bench: Workbench) -> None:
    run = CATALOGUE.build("random-loss", {"loss": "1 %"}, 4)
    bench.start_from(run)
    bench.turn("rate", 1)
    bench.start_from(run)
    assert bench.experiment.path.rate == 200e6
    bench.start_from(msgspec.structs.replace(run, seed=5))
    assert (bench.experiment.path.rate, bench.experiment.seed) == (100e6, 5)


def test_five_runs_stand_beside_at_most(bench: Workbench) -> None:
    runs = [
        ComparisonRun(f"r{n}", "", bench.experiment, (), (), None, "") for n in range(MAX_COMPARISONS + 1)
    ]
    assert [bench.add_comparison(run) for run in runs] == [True] * MAX_COMPARISONS + [False]
    bench.remove_comparison("r1")
    assert bench.add_comparison(runs[-1])
    assert [run.id for run in bench.comparisons] == ["r0", "r2", "r3", "r4", "r5"]


def test_what_is_kept_comes_back_and_can_be_forgotten(bench: Workbench, tmp_path: Path) -> None:
    benches = Benches(tmp_path)
    assert benches.all() == ()
    bench.set("loss", "1 %")
    bench.set("seed", "9")
    benches.save(bench.saved_bench("  lossy "))
    bench.set("mtu", "9000")
    benches.save(bench.saved_bench("jumbo"))
    assert [each.name for each in benches.all()] == ["jumbo", "lossy"]
    bench.recall(benches.all()[1])
    assert (bench.experiment.path.loss, bench.experiment.seed, bench.saved_as) == (0.01, 9, "lossy")
    assert typed(bench.command) == bench.experiment
    benches.remove("jumbo")
    assert [each.name for each in benches.all()] == ["lossy"]


def test_a_name_is_a_short_line(tmp_path: Path) -> None:
    benches = Benches(tmp_path)
    for name in ("", "  ", "a\nb", "x" * (LONGEST_NAME + 1)):
        with pytest.raises(UsageError, match="use 1 to 40 printable characters"):
            benches.save(SavedBench(name=name, experiment="m/e", settings={}, seed=1))


def test_a_damaged_file_of_benches_is_told_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "benches.json").write_text('{"format_version": 1, "benches": 3}')
    with pytest.raises(JournalError, match=r"was damaged .*: it is kept as .*benches\.damaged-"):
        Benches(tmp_path).all()
    assert Benches(tmp_path).all() == ()
    (tmp_path / "benches.json").write_text('{"format_version": 9, "benches": []}')
    with pytest.raises(JournalError, match="newer tcptutor"):
        Benches(tmp_path).all()
    with pytest.raises(JournalError, match="nothing is saved in this session"):
        Benches(None).save(SavedBench(name="x", experiment="m/e", settings={}, seed=1))
