"""The ready files for other systems, run as these run them: in their folders, and without a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tcptutor.base import places
from tests.grading import contracts
from tests.grading.evidence.student import KEY, LESSONS, Student, handed_in
from tests.install.command import ROOT, needs_user_namespaces, run

pytestmark = [pytest.mark.host, needs_user_namespaces]

READY = places.assets() / "integrations"
ENVIRONMENT = Path(sys.executable).parents[1]
"""With the command that is tested."""
TCPTUTOR = ENVIRONMENT / "bin" / "tcptutor"
NO_NETWORK = [*ROOT, "--net"]
AS_ROOT_FOLDER = """
set -e
root=$1
for each in /*; do
    if [ -L "$each" ]; then cp -P "$each" "$root"
    elif [ -d "$each" ] && [ ! -e "$root$each" ]; then mkdir "$root$each" && mount --rbind "$each" "$root$each"
    fi
done
shift
exec chroot "$root" "$@"
"""
"""Runs words with a folder as /, which has all that this machine has but for what is in the folder already."""

FULL, NOTHING, DAMAGED, ABSENT, SEVERAL = "full", "nothing done", "damaged", "absent", "several"
CASES = [FULL, NOTHING, DAMAGED, ABSENT, SEVERAL]
LINES = {
    DAMAGED: "is not a hand-in, or damaged",
    ABSENT: "There is no hand-in",
    SEVERAL: "There are 2 hand-ins",
}


class Made(NamedTuple):
    """What students of the small course handed in."""

    ada: Path
    bob: Path
    nothing: Path

    def into(self, folder: Path, case: str) -> None:
        """A submission of that case."""
        within = folder / "a folder"
        within.mkdir(parents=True)
        (within / "notes.txt").write_text("no hand-in")
        match case:
            case "full" | "several":
                shutil.copy(self.ada, within / "hand-in (1).tcphandin")
            case "nothing done":
                shutil.copy(self.nothing, within)
            case "damaged":
                # Its name could end the string that it is told in, or the line.
                name = 'a "quoted" \\ name\n.tcphandin'
                (within / name).write_bytes(self.ada.read_bytes()[:5000])
        if case == "several":
            shutil.copy(self.bob, folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("made")
    does: Mapping[str, Callable[[Student], object]] = {"ada": Student.does_all, "bob": Student.does_all}
    ada, bob = (handed_in(name, folder / name, do) for name, do in does.items())
    return Made(ada, bob, handed_in("cleo", folder / "nothing", lambda _student: None))


def course_into(folder: Path) -> None:
    """What a teacher puts beside a ready file. Nobody writes the end of a line as we do."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "course.code").write_bytes(f"{KEY.code}\r".encode())
    shutil.copytree(LESSONS, folder / "lessons")


def dying(folder: Path) -> Path:
    """A tcptutor that ends as one does that takes more memory than it may have."""
    command = folder / "dying"
    command.write_text("#!/bin/sh\nkill -9 $$\n")
    command.chmod(0o755)
    return command


def told(result: Any) -> tuple[float, float]:
    """Marks reached, and to be reached, by the tests of a result."""
    points, most = ("points", "max_points") if "gradable" in result else ("score", "max_score")
    return sum(test[points] for test in result["tests"]), sum(test[most] for test in result["tests"])


# Gradescope


def gradescope(tmp_path: Path, made: Made, case: str, **files: str) -> Any:
    """The result of its autograder in a container as https://gradescope-autograders.readthedocs.io has it."""
    root = tmp_path / "root"
    autograder = root / "autograder"
    course_into(autograder / "source")
    for name, text in files.items():
        (autograder / "source" / name.replace("_", "-")).write_text(text)
    shutil.copy(READY / "gradescope" / "run_autograder", autograder)
    made.into(autograder / "submission", case)
    metadata = {"id": 1, "users": [{"email": "ada", "id": 2, "name": "Ada"}], "previous_submissions": []}
    (autograder / "submission_metadata.json").write_text(json.dumps(metadata))
    (root / "opt").mkdir()
    (root / "opt" / "tcptutor").symlink_to(ENVIRONMENT)
    begin = ["sh", "-c", "cd /autograder && exec ./run_autograder"]
    done = run([*NO_NETWORK, "--mount", "sh", "-c", AS_ROOT_FOLDER, "sh", root, *begin])
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads((autograder / "results" / "results.json").read_text())
    contracts.gradescope(result)
    return result


@pytest.mark.parametrize("case", CASES)
def test_gradescope(case: str, made: Made, tmp_path: Path) -> None:
    result = gradescope(tmp_path, made, case)
    if case in LINES:
        assert result["score"] == 0
        assert LINES[case] in result["output"]
        assert "\n" not in result["output"]
        assert "/autograder" not in result["output"]
    else:
        assert result["score"] == told(result)[0] == (19 if case == FULL else 0)
        assert told(result)[1] == 19


def test_gradescope_shows_marks_when_the_teacher_says(made: Made, tmp_path: Path) -> None:
    result = gradescope(tmp_path, made, FULL, visibility="after_due_date\n")
    assert {one["visibility"] for one in (result, *result["tests"])} == {"after_due_date"}


def test_gradescope_applies_the_teachers_decisions(made: Made, tmp_path: Path) -> None:
    """Those on the student of the hand-in; those on others stay unsaid."""
    lines = [
        f'[[decision]]\nstudent = "{who}"\nmarks = 3\nreason = "Ill"\nby = "AB"' for who in ("ada", "zoe")
    ]
    result = gradescope(tmp_path, made, FULL, **{"exceptions.toml": "\n".join(lines)})
    assert (result["score"], told(result)) == (3, (pytest.approx(3, abs=0.01), 19))
    assert "Ill (AB)" in result["output"] and "zoe" not in json.dumps(result)


def test_gradescope_gives_nothing_for_the_file_of_another_student(made: Made, tmp_path: Path) -> None:
    assert gradescope(tmp_path / "own", made, FULL, check_email="")["score"] == 19
    theirs = gradescope(tmp_path / "theirs", made._replace(ada=made.bob), FULL, check_email="")
    assert theirs["score"] == 0
    assert theirs["output"].startswith("This hand-in is another student's")


@pytest.mark.parametrize("broken", ["no code", "no tcptutor", "killed"])
def test_gradescope_has_a_result_whatever_is_broken(broken: str, made: Made, tmp_path: Path) -> None:
    shutil.copytree(READY / "gradescope", tmp_path / "source")
    if broken != "no code":
        (tmp_path / "source" / "course.code").write_text(KEY.code)
    made.into(tmp_path / "submission", FULL)
    tcptutor = dying(tmp_path) if broken == "killed" else tmp_path / "tcptutor"
    run([tmp_path / "source" / "run_autograder"], AUTOGRADER=str(tmp_path), TCPTUTOR=str(tcptutor))
    result = json.loads((tmp_path / "results" / "results.json").read_text())
    assert (result["score"], "not your fault" in result["output"]) == (0, True)


@pytest.mark.parametrize(
    ("file", "content"), [("course.code", f"{KEY.code[:-1]}7"), ("course.modules", "no-such-module")]
)
def test_what_the_teacher_wrote_wrongly_is_not_told_the_student(
    file: str, content: str, made: Made, tmp_path: Path
) -> None:
    """Gradescope alone; the others take what tcptutor says in the same way."""
    shutil.copytree(READY / "gradescope", tmp_path / "source")
    course_into(tmp_path / "source")
    (tmp_path / "source" / file).write_text(content)
    made.into(tmp_path / "submission", FULL)
    done = run([tmp_path / "source" / "run_autograder"], AUTOGRADER=str(tmp_path), TCPTUTOR=str(TCPTUTOR))
    result = json.loads((tmp_path / "results" / "results.json").read_text())
    assert (result["score"], "not your fault" in result["output"]) == (0, True)
    assert content in done.stdout


def test_gradescope_counts_the_modules_of_the_assignment(made: Made, tmp_path: Path) -> None:
    shutil.copytree(READY / "gradescope", tmp_path / "source")
    course_into(tmp_path / "source")
    (tmp_path / "source" / "course.modules").write_text("small\n")
    made.into(tmp_path / "submission", FULL)
    run([tmp_path / "source" / "run_autograder"], AUTOGRADER=str(tmp_path), TCPTUTOR=str(TCPTUTOR))
    assert json.loads((tmp_path / "results" / "results.json").read_text())["score"] == 19


def test_gradescope_is_set_up_with_the_package_that_lies_beside(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(READY / "gradescope", source)
    setup = [*NO_NETWORK, source / "setup.sh"]
    # Nothing is installed that is not here: what would be asked for fails.
    path = f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
    how = {
        "AUTOGRADER": str(tmp_path),
        "TCPTUTOR_VENV": str(tmp_path / "venv"),
        "PATH": path,
        "PIP_NO_INDEX": "1",
    }
    for missing, said in (("course.code", "course.code is missing"), ("x", "tcptutor-*.whl is missing")):
        done = run(setup, **how)
        assert (done.returncode, said in done.stderr) == (1, True), done.stderr
        (source / missing).write_text(KEY.code)
    a_wheel(source)
    (source / "visibility").write_text("now")
    assert run(setup, **how).returncode == 1
    (source / "visibility").write_text("hidden\r\n")
    done = run(setup, **how)
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (
        0,
        ["tcptutor --version", f"tcptutor course-key {KEY.code} --code"],
    ), done.stderr


def a_wheel(folder: Path) -> None:
    """A package of that name, which needs no others."""
    about = "tcptutor-9.dist-info"
    files = {
        "tcptutor/__init__.py": "import sys\ndef main():\n    print('tcptutor', *sys.argv[1:])\n",
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: tcptutor\nVersion: 9\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\ntcptutor = tcptutor:main\n",
    }
    record = f"{about}/RECORD"
    with zipfile.ZipFile(folder / "tcptutor-9-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, record: "".join(f"{name},,\n" for name in (*files, record))}.items():
            wheel.writestr(name, text)


# PrairieLearn


@pytest.mark.parametrize("case", CASES)
def test_prairielearn(case: str, made: Made, tmp_path: Path) -> None:
    root = tmp_path / "root"
    grade = root / "grade"
    # As its buildDirectory has them; there are no results yet.
    for name in ("serverFilesCourse", "student", "data"):
        (grade / name).mkdir(parents=True)
    course_into(grade / "tests")
    (grade / "data" / "data.json").write_text("{}")
    made.into(grade / "student" / "x", case)
    shutil.copy(READY / "prairielearn" / "grade.sh", grade / "tests")
    begin = ["/grade/tests/grade.sh"]
    words = [*NO_NETWORK, "--mount", "sh", "-c", AS_ROOT_FOLDER, "sh", root, *begin]
    done = run(words, TCPTUTOR=str(TCPTUTOR))
    # With any other code it reads no result.
    assert (done.returncode, done.stderr) == (0, "")
    file = grade / "results" / "results.json"
    assert file.stat().st_size < 1 << 20
    result = json.loads(file.read_text())
    contracts.prairielearn(result)
    if case in LINES:
        (line,) = result["format_errors"]
        assert (result["gradable"], result["message"]) == (False, line)
        assert LINES[case] in line
        assert "/grade" not in line
    else:
        reached = 19 if case == FULL else 0
        assert (result["gradable"], result["score"]) == (True, reached / 19)
        assert told(result) == (reached, 19)


def test_prairielearn_takes_no_attempt_for_what_is_not_the_students_fault(made: Made, tmp_path: Path) -> None:
    course_into(tmp_path / "tests")
    made.into(tmp_path / "student", FULL)
    script = READY / "prairielearn" / "grade.sh"
    done = run([script], GRADE=str(tmp_path), TCPTUTOR=str(dying(tmp_path)))
    assert done.returncode == 0
    result = json.loads((tmp_path / "results" / "results.json").read_text())
    assert (result["gradable"], "not your fault" in result["message"]) == (False, True)


def test_prairielearn_question() -> None:
    folder = READY / "prairielearn"
    info = json.loads((folder / "info.json").read_text())
    contracts.prairielearn_question(info)
    assert info["externalGradingOptions"]["enableNetworking"] is False
    copied = re.findall(r"^COPY (?:--\S+ )?(\S+) (\S+)$", (folder / "Dockerfile").read_text(), re.MULTILINE)
    assert ("grade.sh", info["externalGradingOptions"]["entrypoint"]) in copied


# Classroom 50


def classroom50(tmp_path: Path, made: Made, case: str, owner: str = "ada", *checks: str) -> tuple[Any, str]:
    """The result, with what its runner puts into it, and the text of the release."""
    bundle = tmp_path / "classroom50-runtime" / "tcp"
    course_into(bundle)
    shutil.copy(READY / "classroom50" / "autograder.py", bundle)
    for name in checks:
        (bundle / name).touch()
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    # What a student could leave there to be run, or taken for the course's key.
    for name in ("json.py", "tcptutor.py", "venv.py", KEY.code):
        (checkout / name).write_text("raise SystemExit('the student was asked')")
    made.into(checkout / "work", case)
    at = "https://github.com/org/cs-tcp-ada"
    environment = {
        "CLASSROOM": "cs", "ASSIGNMENT": "tcp", "SUBMISSION_TAG": "submit/2026-11-24T02-00-00Z-a1b2c3d",
        "PAGES_BASE_URL": "https://org.github.io/classroom50", "USERNAME": owner, "OWNER": owner,
        "ASSIGNMENT_TYPE": "individual", "COMMIT_URL": f"{at}/commit/a1b2c3d", "RELEASE_URL": f"{at}/releases/tag/x",
        "REVIEW_URL": f"{at}/compare/0...a1b2c3d", "CLASSROOM50_BUNDLE_DIR": str(bundle), "TCPTUTOR": str(TCPTUTOR),
    }  # fmt: skip
    done = subprocess.run(
        [*NO_NETWORK, sys.executable, bundle / "autograder.py"],
        cwd=checkout, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads((checkout / "result.json").read_text())
    contracts.classroom50(result)
    # Its `finalize_result` does so before it looks.
    result |= {"datetime": "2026-11-24T02:00:00Z", "graded_at": "2026-11-24T02:01:00Z"}
    contracts.classroom50(result)
    assert (result["classroom"], result["assignment"], result["owner"]) == ("cs", "tcp", owner)
    return result, (checkout / "release-body.md").read_text()


@pytest.mark.parametrize("case", CASES)
def test_classroom50(case: str, made: Made, tmp_path: Path) -> None:
    result, body = classroom50(tmp_path, made, case)
    if case in LINES:
        assert (result["score"], result["max-score"]) == (0, 1)
        assert [test["passed"] for test in result["tests"]] == [False]
        assert LINES[case] in body
        assert str(tmp_path) not in body
    else:
        assert (result["score"], result["max-score"]) == (1900 if case == FULL else 0, 1900)
        assert ("missing: nothing was done" in body) == (case == NOTHING)
        assert body.count("\n") == len(result["tests"]) + 4


def test_classroom50_gives_nothing_for_the_file_of_another_student(made: Made, tmp_path: Path) -> None:
    own, _ = classroom50(tmp_path / "own", made, FULL, "Ada", "check-owner")
    assert own["score"] == 1900
    theirs, body = classroom50(tmp_path / "theirs", made, FULL, "bob", "check-owner")
    assert theirs["score"] == 0
    assert "This hand-in is another student's" in body


def test_classroom50_installs_the_package_that_lies_beside(made: Made, tmp_path: Path) -> None:
    """An error of the machine's is no result: Classroom 50 tells of it from the exit code."""
    shutil.copy(READY / "classroom50" / "autograder.py", tmp_path)
    (tmp_path / "course.code").write_text(KEY.code)
    checkout = tmp_path / "checkout"
    made.into(checkout, FULL)
    words = [*NO_NETWORK, sys.executable, tmp_path / "autograder.py"]
    without = subprocess.run(words, cwd=checkout, capture_output=True, check=False)
    assert without.returncode != 0
    a_wheel(tmp_path)
    environment = {**os.environ, "PIP_NO_INDEX": "1"}
    done = subprocess.run(words, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
    # That package writes no grade.
    assert "FileNotFoundError" in done.stderr
    assert not (checkout / "result.json").exists()


# GitHub


def step(name: str) -> Any:
    workflow = yaml.safe_load((READY / "github" / "grade.yml").read_text())
    (job,) = workflow["jobs"].values()
    return next(each for each in job["steps"] if each.get("name") == name)


def github(folder: Path) -> subprocess.CompletedProcess[str]:
    """Its step that grades, as a runner starts one that names no shell."""
    course_into(folder / "repository" / ".github" / "tcptutor")
    script = folder / "step.sh"
    script.write_text(step("Grade")["run"])
    (folder / "temp").mkdir()
    return run(
        [*NO_NETWORK, "bash", "-e", script],
        GITHUB_WORKSPACE=str(folder / "repository"), RUNNER_TEMP=str(folder / "temp"), TCPTUTOR=str(TCPTUTOR),
        GITHUB_STEP_SUMMARY=str(folder / "summary"),
    )  # fmt: skip


def test_the_workflow_takes_actions_of_one_major_version_and_may_write_nothing() -> None:
    workflow = yaml.safe_load((READY / "github" / "grade.yml").read_text())
    (job,) = workflow["jobs"].values()
    used = [each["uses"] for each in job["steps"] if "uses" in each]
    assert used
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", each) for each in used)
    assert workflow["permissions"]["contents"] == "read"
    # What somebody else writes, the name of a branch for one, is never part of a script.
    assert all("${{" not in each.get("run", "") for each in job["steps"])


def test_github_publishes_tables_and_junit(made: Made, tmp_path: Path) -> None:
    for case in (SEVERAL, NOTHING, DAMAGED):
        made.into(tmp_path / "repository" / case.replace(" ", "-"), case)
    done = github(tmp_path)
    assert done.returncode == 1, done.stderr
    grades = tmp_path / "temp" / "grades"
    assert sorted(file.name for file in grades.iterdir()) == [
        "canvas.csv",
        "grades.csv",
        "junit.xml",
        "moodle.csv",
    ]
    published = step("Grade")["run"]
    assert "$RUNNER_TEMP/grades" in published
    suites = ET.parse(grades / "junit.xml").getroot()
    assert [suite.get("errors") for suite in suites].count("1") == 1
    assert [suite.get("failures") for suite in suites].count("0") == 3
    assert (grades / "grades.csv").read_text().count("\nada,") == 1
    assert (grades / "grades.csv").read_text().count("\ncleo,") == 1
    summary = (tmp_path / "summary").read_text().splitlines()
    assert all(line.startswith("    ") for line in summary)
    assert "    ada  19 of 19 marks, 100 %" in summary


@pytest.mark.parametrize("module", ["small", "no-such-module"])
def test_github_counts_the_modules_of_the_assignment(module: str, made: Made, tmp_path: Path) -> None:
    made.into(tmp_path / "repository" / "work", FULL)
    given = tmp_path / "repository" / ".github" / "tcptutor"
    given.mkdir(parents=True)
    (given / "course.modules").write_text(f"{module}\n")
    done = github(tmp_path)
    # Of what the teacher wrote wrongly there is no result: the run fails.
    assert (done.returncode == 0) == (module == "small")
    assert ("'no-such-module'" in done.stderr) == (module != "small")
