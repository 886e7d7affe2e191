"""Autograder for Classroom 50: grades the hand-in in a student's repository.

It runs in the student's checkout after each submission and writes result.json and release-body.md there:
https://github.com/foundation50/classroom50/wiki/Advanced-Autograding. The checkout belongs to the student, so no file
in it is executed or imported.
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
    """No hand-in can be graded; the message is for the student."""


def main() -> None:
    """Grade and write both files. Any other failure exits with a code that Classroom 50 shows as an error."""
    checkout = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        # Outside the checkout, where a file could shadow a package or the course code.
        os.chdir(folder)
        tcptutor = os.environ.get("TCPTUTOR") or installed(Path(folder) / "tcptutor")
        try:
            result = graded(tcptutor, hand_in(checkout), Path(folder))
        except Refused as why:
            result = no_marks(str(why))
    (checkout / RESULT).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (checkout / BODY).write_text(body(result), encoding="utf-8")


def installed(venv: Path) -> str:
    """Install the wheel next to this file and return its command. Never install by name from PyPI."""
    (wheel,) = BUNDLE.glob("tcptutor-*.whl")
    subprocess.run([sys.executable, "-I", "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "--quiet", wheel], check=True)
    return str(venv / "bin" / "tcptutor")


def hand_in(checkout: Path) -> Path:
    """Return the only hand-in. Raises Refused if there is none, or more than one."""
    found = [path for path in checkout.rglob("*.tcphandin") if path.is_file() and not path.is_symlink()]
    if not found:
        raise Refused("There is no hand-in: commit the file that `tcptutor submit` writes, and push it.")
    if len(found) > 1:
        raise Refused(f"There are {len(found)} hand-ins: leave one.")
    return found[0]


def graded(tcptutor: str, path: Path, folder: Path) -> dict[str, Any]:
    """Return the result. Raises Refused for a file that cannot be graded or belongs to another student."""
    code = (BUNDLE / "course.code").read_text(encoding="utf-8").strip()
    words: list[str | Path] = [tcptutor, "grade", path, "--key", code]
    if (BUNDLE / "lessons").is_dir():
        words += ["--course", BUNDLE / "lessons"]
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
                # A defect, a problem of the machine, or wrong usage (2): not the student's fault.
                sys.exit(f"tcptutor ended with {done.returncode}: {done.stderr}")
            raise Refused(said.removeprefix("tcptutor: ").replace(f"{path.parent}/", ""))
    (whole,) = json.loads((folder / "json").read_text(encoding="utf-8"))["hand_ins"]
    owner = os.environ.get("OWNER", "")
    # This file means that students enrol with their GitHub names.
    if (BUNDLE / "check-owner").exists() and whole["student"].casefold() != owner.casefold():
        raise Refused(f"This hand-in is another student's: enrol as {owner}, your name on GitHub.")
    result: dict[str, Any] = json.loads((folder / "classroom50").read_text(encoding="utf-8"))
    return result


def no_marks(why: str) -> dict[str, Any]:
    """Return a result of 0 marks with one failed test; without a test it would count as a success."""
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
        # The runner replaces this with the time of the commit.
        "datetime": "1970-01-01T00:00:00Z",
        "score": 0,
        "max-score": 1,
        "tests": [test],
    }


def body(result: dict[str, Any]) -> str:
    """Format the release text: each mark with its reason, which Classroom 50's own table omits."""
    lines = [f"### {result['score']} of {result['max-score']}", "", "| | marks | |", "|---|---|---|"]
    for test in result["tests"]:
        cells = [test["test-name"], f"{test['score']} of {test['max-score']}", test["reason"]]
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return "\n".join([*lines, ""])


def cell(text: str) -> str:
    """Escape `text` for a cell of a Markdown table."""
    return " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace("|", "\\|")


if __name__ == "__main__":
    main()
