"""Names that are typed: short ones, wrong ones, and what `list` and `model` tell about one."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from tcptutor import course
from tcptutor.base import places
from tcptutor.base.errors import UsageError, near
from tcptutor.commands.list import example, explained
from tcptutor.commands.names import find_page, what_runs
from tcptutor.course import experiments
from tcptutor.course.experiments import Catalogue, same_settings
from tcptutor.spec import PARAMETERS
from tests.command import here
from tests.each import each


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("rnu", "no command 'rnu': did you mean run? (see `tcptutor --help`)"),
        ("run", "missing argument 'MODULE/EXPERIMENT' (see `tcptutor run --help`)"),
        ("show --jsn x", "no such option '--jsn'"),
        ("show last --course x", "write it before the command, `tcptutor --course FILE show ...`"),
        ("run randm-loss", "no experiment 'randm-loss': did you mean random-loss?"),
        ("run parallel-stream/random-loss", "did you mean parallel-streams/random-loss?"),
        ("sweep randm-loss --grid loss=1%", "did you mean random-loss?"),
        ("shell --experiment randm-loss", "did you mean random-loss?"),
        ("run random-loss --set los=1%", "no parameter 'los': did you mean loss?"),
        ("run random-loss --set bandwidth=1Mbit/s", "no parameter 'bandwidth': did you mean rate?"),
        ("run random-loss --set qdisc=fqcodel", "did you mean fq_codel or codel?"),
        ("sweep random-loss --grid los=1%", "no parameter 'los': did you mean loss?"),
        ("model mathsi", "no model 'mathsi': did you mean mathis?"),
        ("model htcp", "'htcp' matches 5 models: write htcp_window or"),
        ("list los", "no module, experiment, parameter or term 'los': did you mean loss?"),
        ("runs --experiment randomloss", "no experiment 'randomloss': did you mean random-loss?"),
        ("runs --module parallel", "no module 'parallel': did you mean parallel-streams?"),
        ("run 3.4", "one-lossy-flow is a page that runs parallel-streams/random-loss: `tcptutor run "),
        ("run tcp-basics/7", "a-larger-window is a page that runs tcp-basics/long-path: `tcptutor run "),
        ("run 1.10", "is a page that sweeps tcp-basics/receive-window: `tcptutor sweep tcp-basics/how-much"),
        ("run 1.99", "no page '99': `tcptutor list tcp-basics` names its"),
        ("run 9.1", "no module '9': there are tcp-basics,"),
        ("run tcp-basics", "tcp-basics is a module: `tcptutor list tcp-basics` names its experiments"),
        ("sweep 1.7", "has no sweep: pages that sweep are 1.10, 1.11"),
        ("shell 1.7", "`tcptutor shell --experiment tcp-basics/long-path --set 'duration=6 s'"),
        ("show 1.7", "1.7 is a page, not a run: `tcptutor runs --page tcp-basics/a-larger-window`"),
        ("plot random-loss", "random-loss is an experiment, not a run: `tcptutor runs random-loss`"),
        ("check tcp-basic/8", "no module 'tcp-basic': did you mean tcp-basics?"),
        ("list tcp-basics/a-larger-windw", "did you mean tcp-basics/a-larger-window"),
        ("runs --page four-losy-flows", "no page 'four-losy-flows': did you mean four-lossy-flows?"),
    ],
)
def test_a_name_that_there_is_not_is_one_line_with_what_was_meant(
    words: str, says: str, without_state: object
) -> None:
    done = here(*words.split())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("tcptutor: ")
    assert says in done.stderr


@pytest.mark.parametrize("name", ["1.7", "tcp-basics/7", "tcp-basics/a-larger-window", "a-larger-window"])
def test_a_page_is_found_by_its_number_and_by_its_name(name: str, without_state: object) -> None:
    found = json.loads(here("list", name, "--json").stdout)
    assert (found["module"], found["id"]) == ("tcp-basics", "a-larger-window")
    assert here("runs", name).returncode == here("runs", "--page", name).returncode == 0


@pytest.mark.parametrize("name", ["1.7", "3.4", "4.3"])
def test_the_suggested_command_makes_the_experiment_of_the_page(name: str) -> None:
    module, step = find_page(name)
    _, suggested = what_runs(module, step, "tcptutor run")
    _, _, experiment, *settings = shlex.split(suggested)
    changed = dict(each.split("=", 1) for each in settings if each != "--set")
    assert step.experiment is not None
    assert same_settings(experiments.build(experiment, changed), step.experiment.experiment)


def test_only_what_is_near_is_meant() -> None:
    assert near("loss", ["delay", "rate"]) == ""
    assert near("RATE", ["rate", "udp_rate"]) == "did you mean rate?"


def test_a_short_name_is_enough_where_only_one_experiment_has_it() -> None:
    assert experiments.build("random-loss") == experiments.build("parallel-streams/random-loss")
    assert "parallel-streams/random-loss: Reno" in here("list", "random-loss").stdout
    assert here("model", "math", "mss=1448", "rtt=50ms", "loss=0.1%").stdout.startswith("mathis: ")


def test_of_two_experiments_with_one_short_name_both_are_named(tmp_path: Path) -> None:
    shutil.copytree(places.lessons(), tmp_path / "lessons")
    folder = tmp_path / "lessons" / "04-other" / "experiments"
    folder.mkdir(parents=True)
    first = next((tmp_path / "lessons").glob("*/experiments/random-loss.toml"))
    shutil.copy(first, folder)
    catalogue = Catalogue(tmp_path / "lessons")
    assert catalogue.full_name("small-window") == "parallel-streams/small-window"
    with pytest.raises(UsageError, match="write parallel-streams/random-loss or other/random-loss"):
        catalogue.full_name("random-loss")


@pytest.fixture(scope="module")
def whole() -> course.Course:
    return course.load()


@each("name", PARAMETERS)
def test_every_parameter_is_explained_with_an_example_that_works(whole: course.Course, name: str) -> None:
    """As `tcptutor list NAME` prints it, which reads the course first."""
    lines, _ = explained(whole, PARAMETERS[name])
    assert PARAMETERS[name].help in "\n".join(lines)
    assert PARAMETERS[name].bounds in "\n".join(lines)
    words = shlex.split(example(PARAMETERS[name]))
    assert words[:3] == ["tcptutor", "run", "random-loss"]
    overrides = dict(word.split("=", 1) for word in words if "=" in word)
    assert name in overrides
    changed = experiments.build("random-loss", overrides)
    assert PARAMETERS[name].of(changed) != PARAMETERS[name].of(experiments.build("random-loss"))


def test_where_the_course_is_small_a_refusal_names_all_experiments(tmp_path: Path) -> None:
    """Of more than ten it says how to see them."""
    first = next(places.lessons().glob("*/experiments/random-loss.toml"))
    (folder := tmp_path / "01-one" / "experiments").mkdir(parents=True)
    for number in range(10):
        shutil.copy(first, folder / f"made-{number}.toml")
    with pytest.raises(UsageError, match=r"'zzz': there are made-0, made-1, .*made-9$"):
        Catalogue(tmp_path).full_name("zzz")
    shutil.copy(first, folder / "made-10.toml")
    with pytest.raises(UsageError, match=r"'zzz': run `tcptutor list` to see them$"):
        Catalogue(tmp_path).full_name("zzz")


@pytest.mark.parametrize(
    ("name", "also", "keys"),
    [
        ("pacing", "tcptutor --module pacing", {"parameter", "set_by", "title", "steps", "experiments"}),
        ("jitter", "tcptutor run tcp-basics/jitter", {"parameter", "set_by", "title", "parameters"}),
    ],
)
def test_a_name_of_two_things_tells_of_both(name: str, also: str, keys: set[str]) -> None:
    told = here("list", name).stdout
    assert told.index(PARAMETERS[name].help) < told.index(also)
    assert keys <= set(json.loads(here("list", name, "--json").stdout))


def test_a_parameter_says_who_sets_it() -> None:
    told = json.loads(here("list", "streams", "--json").stdout)
    assert told["default"] == 1
    assert told["set_by"]["parallel-streams, page 5"] == "4"
    assert "parallel-streams/random-loss: 0.1 %" in here("list", "loss").stdout
    assert "net.ipv4.tcp_sack" in here("list", "tcp_sack").stdout


def test_a_module_is_explained() -> None:
    told = here("list", "parallel-streams").stdout
    assert "tcptutor --module parallel-streams" in told
    assert "small-window" in told
