"""A wrong lesson file says where and what in one line, and takes nothing else down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.base import places
from tcptutor.base.errors import ContentError, ParameterError, UsageError
from tcptutor.course import experiments, load, read_course

from .conftest import EXAMPLES, EXPERIMENT, MODULE, STEP, Edit, module_of, only, page

MODULES = ["tcp-basics", "congestion-algorithms", "parallel-streams", "pacing", "broken-labs"]
CHOICES = page("what-a-stream-is")
NUMBER = page("up-to-the-knee")
PREDICT_LINE = (places.lessons() / STEP).read_text(encoding="utf-8").split("\n").index("[predict]") + 1

CASES = {
    "unknown key": (
        STEP,
        "[predict]",
        "[predict]\nasks = 1",
        ["predict.asks", "prompt, unit, default_unit, measure, tolerance, hints"],
    ),
    "unknown top key": (STEP, "title =", "titel =", ["titel", "did you mean title?", "title, subtitle"]),
    "missing key": (STEP, 'prompt = "What throughput will', 'unit2 = "', ["predict.unit2"]),
    "unknown unit": (STEP, 'unit = "rate"', 'unit = "speed"', ["predict.unit", "'speed'", "rate, time"]),
    "wrong type": (STEP, 'unit = "rate"', "unit = 1", ["predict.unit"]),
    "hints not a list": (STEP, "hints = [", 'hints = "x"\nmore = [', ["predict"]),
    "unknown kind": (
        STEP,
        'kind = "single"',
        'kind = "singel"',
        ["].kind", "single, multiple, order"],
    ),
    "no feedback": (
        CHOICES,
        "correct = true\nfeedback = ",
        "correct = true\n# ",
        [".choice[2].feedback", "is missing"],
    ),
    "unknown experiment": (
        STEP,
        'name = "random-loss"',
        'name = "random-los"',
        ["experiment.name", "streams/random-los'", "did you mean parallel-streams/random-loss"],
    ),
    "value without unit": (
        STEP,
        'duration = "40 s"',
        "duration = 40",
        ["experiment.set", "duration", "no unit"],
    ),
    "value out of bounds": (STEP, 'duration = "40 s"', 'loss = "95 %"', ["experiment.set", "loss", "bounds"]),
    "unknown parameter": (STEP, 'duration = "40 s"', 'speed = "1"', ["experiment.set", "speed"]),
    "value is a list": (STEP, 'duration = "40 s"', "duration = [1]", ["experiment.set", "text"]),
    "an open quote": (
        STEP,
        'title = "A single flow on a lossy path"',
        'title = "A single flow',
        ["a quote on the same line"],
    ),
    "a value without quotes": (STEP, 'path = "essential"', "path = essential", ["text in straight quotes"]),
    "a table twice": (STEP, "[predict]", "[predict]\n[predict]", ["several of a kind are [[NAME]]"]),
    "bad TOML": (STEP, "[predict]", "[predict", ["not valid TOML", f"line {PREDICT_LINE}"]),
    "no path": (STEP, 'path = "essential"\n', "", ["path: is missing", "essential", "deeper"]),
    "unknown path": (STEP, 'path = "essential"', 'path = "optional"', ["'optional'", "essential, deeper"]),
    "no first fence": (STEP, "+++\n", "", ["first line must be +++"]),
    "no second fence": (STEP, "\n+++\n", "\n", ["second +++"]),
    "no correct choice": (
        CHOICES,
        "correct = true",
        "correct = false",
        ["].choice", "no choice is correct"],
    ),
    "two correct": (
        CHOICES,
        "[[question.choice]]\n",
        "[[question.choice]]\ncorrect = true\n",
        ["].choice", "2 choices"],
    ),
    "answer without unit": (
        NUMBER,
        'answer = "10 Mbit/s"',
        'answer = "10"',
        ["question[1].answer", "no unit"],
    ),
    "numeric without unit": (NUMBER, 'unit = "rate"', "", ["question[1].unit", "is missing"]),
    "same id twice": (NUMBER, 'id = "when-to-use"', 'id = "neighbour"', ["question[2].id", "neighbour"]),
    "experiment: no unit": (EXPERIMENT, '"100 Mbit/s"', '"100"', ["rate", "no unit"]),
    "experiment: unknown key": (EXPERIMENT, "title =", "name =", ["name", "title, parameters"]),
    "experiment: unknown parameter": (EXPERIMENT, "loss =", "losses =", ["losses", "loss"]),
    "course: version": (
        "course.toml",
        "format_version = 1",
        "format_version = 9",
        ["format_version", "update"],
    ),
    "course: no such module": ("course.toml", '"parallel', '"nowhere", "parallel', ["modules", "'nowhere'"]),
}


@pytest.mark.parametrize(("file", "old", "new", "parts"), CASES.values(), ids=CASES)
def test_a_wrong_file_names_file_key_and_reason(
    edit: Edit, file: str, old: str, new: str, parts: list[str]
) -> None:
    root = edit(file, old, new)
    _, problems = read_course(only(root, file) if "/" in file else root)
    line = next(line for line in map(str, problems) if line.startswith(f"lessons/{file}: "))
    assert "\n" not in line
    for part in parts:
        assert part in line


def test_loading_and_linting_report_the_same_line(edit: Edit) -> None:
    root = edit(STEP, "[predict]", "[predict]\nasks = 1")
    with pytest.raises(ContentError) as caught:
        load(root)
    assert str(caught.value) in lint(only(root, STEP))


def test_a_damaged_page_is_left_out_and_the_rest_stays(edit: Edit) -> None:
    every = [step.id for step in module_of(load()).steps]
    course, problems = read_course(edit(STEP, "[predict]", "[predict"))
    assert [step.id for step in module_of(course).steps] == [id for id in every if id != "one-lossy-flow"]
    assert len(problems) == 1


def test_a_damaged_experiment_takes_its_pages_only(edit: Edit) -> None:
    steps = module_of(load()).steps
    course, problems = read_course(edit(EXPERIMENT, '"100 Mbit/s"', '"100"'))
    left = {step.experiment.name for step in module_of(course).steps if step.experiment}
    every = {step.experiment.name for step in steps if step.experiment}
    assert left == every - {"parallel-streams/random-loss"} != every
    assert all("random-loss.toml: rate: '100' has no unit" in str(problem) for problem in problems)


def test_a_damaged_module_takes_itself_only(edit: Edit, lessons: Path) -> None:
    second = lessons / "05-other"
    second.mkdir()
    (second / "module.toml").write_text("title = ", encoding="utf-8")
    course, problems = read_course(edit("course.toml", "streams", 'streams", "other'))
    assert [module.id for module in course.modules] == MODULES
    assert "05-other/module.toml" in str(problems[0])


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"title ="])
def test_without_a_readable_list_the_folders_are_the_course(lessons: Path, content: bytes | None) -> None:
    (lessons / "course.toml").unlink()
    if content is not None:
        (lessons / "course.toml").write_bytes(content)
    course, problems = read_course(lessons)
    assert [module.id for module in course.modules] == MODULES
    assert "lessons/course.toml" in str(problems[0])


def test_a_folder_that_is_not_there_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    course, problems = read_course(tmp_path / "nothing")
    assert course.modules == ()
    assert "course.toml: the file is missing" in str(problems[0])


def test_windows_line_ends_read_the_same(lessons: Path) -> None:
    before = module_of(load(lessons)).steps
    path = lessons / STEP
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert module_of(load(lessons)).steps == before


def test_a_wrong_experiment_name_is_explained() -> None:
    with pytest.raises(UsageError, match="did you mean random-loss"):
        experiments.build("random-los")
    with pytest.raises(UsageError, match="did you mean parallel-streams/random-loss"):
        experiments.build("parallel-stream/random-loss")
    with pytest.raises(UsageError, match="there are lossy, small-window"):
        experiments.build("nothing", folder=EXAMPLES)
    with pytest.raises(UsageError, match="run `tcptutor list` to see them"):
        experiments.build("nothing")
    with pytest.raises(ParameterError, match="streams"):
        experiments.build("parallel-streams/random-loss", {"streams": "many"})


def test_an_experiment_by_name_reads_its_own_file_alone(edit: Edit, lessons: Path) -> None:
    edit(f"{MODULE}/experiments/small-window.toml", "title =", "titel =")
    assert experiments.build("random-loss", folder=lessons).title == "Reno on a path with random loss"
    with pytest.raises(ContentError, match=r"small-window\.toml: titel"):
        experiments.build("small-window", folder=lessons)
