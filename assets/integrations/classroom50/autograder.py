"""Classroom 50's autograder of an assignment: grades the one hand-in of the student's repository.

It runs in the student's checkout, after each submission, and writes result.json and release-body.md there:
https://github.com/foundation50/classroom50/wiki/Advanced-Autograding. What lies in the checkout is the student's, so
nothing there is run, nor looked for by a name that somebody else gives.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

BUNDLE = Path(__file__).resolve().parent
RESULT, BODY = "result.json", "release-body.md"


class Refused(Exception):
    """There is nothing to grade; the message is for the student."""


def main() -> None:
    """Anything else that goes wrong ends this program with an exit code, which Classroom 50 shows as an error."""
    checkout = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        # Not in the checkout: a file there may have the name of a package, or of the course's code.
        os.chdir(folder)
        tcptutor = os.environ.get("TCPTUTOR") or installed(Path(folder) / "tcptutor")
        try:
            result = graded(tcptutor, hand_in(checkout), Path(folder))
        except Refused as why:
            result = no_marks(str(why))
    (checkout / RESULT).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (checkout / BODY).write_text(body(result), encoding="utf-8")


def installed(venv: Path) -> str:
    """The command of the tcptutor that lies beside this file. Never one by its name from PyPI: there the name is
    whoever's takes it.
    """
    (wheel,) = BUNDLE.glob("tcptutor-*.whl")
    subprocess.run([sys.executable, "-I", "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", wheel], check=True)
    return str(venv / "bin" / "tcptutor")


def hand_in(checkout: Path) -> Path:
    """Raises Refused unless there is one."""
    found = [path for path in checkout.rglob("*.tcphandin") if path.is_file() and not path.is_symlink()]
    if not found:
        raise Refused("There is no hand-in: commit the file that `tcptutor submit` writes, and push it.")
    if len(found) > 1:
        raise Refused(f"There are {len(found)} hand-ins: leave one.")
    return found[0]


def graded(tcptutor: str, path: Path, folder: Path) -> dict[str, Any]:
    """The result. Raises Refused for a file that cannot be graded, or that is another student's."""
    code = (BUNDLE / "course.code").read_text(encoding="utf-8").strip()
    words: list[str | Path] = [tcptutor, "grade", path, "--key", code]
    if (BUNDLE / "lessons").is_dir():
        words += ["--lessons", BUNDLE / "lessons"]
    if (BUNDLE / "course.modules").is_file():
        for module in (BUNDLE / "course.modules").read_text(encoding="utf-8").split():
            words += ["--module", module]
    for kind in ("classroom50", "json"):
        done = subprocess.run(
            [*words, "--format", kind, "-o", folder / kind], capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = done.stderr.strip().rpartition("\n")[2]
            if done.returncode != 1 or not said.startswith("tcptutor: "):
                # An error of its own, of the machine, or of what it was given beside the hand-in (2).
                sys.exit(f"tcptutor ended with {done.returncode}: {done.stderr}")
            raise Refused(said.removeprefix("tcptutor: ").replace(f"{path.parent}/", ""))
    (whole,) = json.loads((folder / "json").read_text(encoding="utf-8"))["hand_ins"]
    owner = os.environ.get("OWNER", "")
    # With this file students are enrolled by their names on GitHub.
    if (BUNDLE / "check-owner").exists() and whole["student"].casefold() != owner.casefold():
        raise Refused(f"This hand-in is another student's: enrol as {owner}, your name on GitHub.")
    result: dict[str, Any] = json.loads((folder / "classroom50").read_text(encoding="utf-8"))
    return result


def no_marks(why: str) -> dict[str, Any]:
    """A result of 0. Without any test it would be a success."""
    test = {"test-name": "hand-in", "passed": False, "score": 0, "max-score": 1, "reason": why}
    commit = os.environ["COMMIT_URL"]
    return {
        "schema": "classroom50/result/v1",
        "classroom": os.environ["CLASSROOM"],
        "assignment": os.environ["ASSIGNMENT"],
        "assignment_type": os.environ.get("ASSIGNMENT_TYPE") or "individual",
        "owner": os.environ.get("OWNER", ""),
        "submission": os.environ["SUBMISSION_TAG"],
        "commit": commit,
        "release": os.environ["RELEASE_URL"],
        "review": os.environ.get("REVIEW_URL") or commit,
        # The runner puts the time of the commit here.
        "datetime": "1970-01-01T00:00:00Z",
        "score": 0,
        "max-score": 1,
        "tests": [test],
    }


def body(result: dict[str, Any]) -> str:
    """What the student reads at the release: each mark with its reason, which Classroom 50's own table leaves out."""
    lines = [f"### {result['score']} of {result['max-score']}", "", "| | marks | |", "|---|---|---|"]
    for test in result["tests"]:
        cells = [test["test-name"], f"{test['score']} of {test['max-score']}", test["reason"]]
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return "\n".join([*lines, ""])


def cell(text: str) -> str:
    """Of a Markdown table, as text and nothing else."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


if __name__ == "__main__":
    main()
