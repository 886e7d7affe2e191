"""Places where nothing can be written: every writer says in one line why, and what would help."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import patience
from tests.cli.places import FOUR
from tests.command import COMMAND
from tests.install.command import ROOT, needs_user_namespaces

ELSEWHERE = {
    "run": "give another place",
    "journal": "set XDG_DATA_HOME to a folder that can be written; what is on the screen stays",
    "export": "give another place with -o",
    "plot": "give another place with -o",
    "sweep": "give another place with -o",
}
NAMED = {"run": "x.tcprun", "journal": "x.tcprun", "export": "x.json", "plot": "x.svg", "sweep": "x.tcpsweep"}
# Without its capabilities even root is refused.
ORDINARY = "exec setpriv --bounding-set=-all --inh-caps=-all -- "


CASES = {
    "full": (
        "mount -t tmpfs -o size=16k none here; head -c 16384 /dev/zero > here/filler",
        "x",
        "No space left on device: free some space, or {elsewhere}",
    ),
    "permission": ("chmod 555 here", "x", "Permission denied: make it writable for you, or {elsewhere}"),
    "read-only": ("mount -t tmpfs -o ro none here", "x", "Read-only file system: {elsewhere}"),
    "file in the way": ("rmdir here; touch here", "x", "Not a directory: {elsewhere}"),
    "folder in the way": (
        "cd here; mkdir -p " + " ".join(f"{named}/inside" for named in NAMED.values()),
        "x",
        "Is a directory: give the name of a file in it",
    ),
    "name": (":", "x" * 300, "File name too long: give a shorter name"),
}
"""What is done to the folder `here`, the name of what is written there, and what is said."""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, str]]]:
    """By case: the folder, and what each writer said of it. One process has all cases, for it is slow to start."""
    root = tmp_path_factory.mktemp("unwritable")
    folders = {case: root / case / "here" for case in CASES}
    script = ""
    for case, (prepare, _, _) in CASES.items():
        folders[case].mkdir(parents=True)
        script += f"(cd '{root / case}'; {prepare}); "
    words = [word for case, (_, name, _) in CASES.items() for word in (folders[case], name)]
    done = subprocess.run(
        [*ROOT, "--mount", "sh", "-c", f'{script}{ORDINARY}"$@"', "-", sys.executable, "-m", "tests.faults.writers",
         *words],
        capture_output=True, text=True, check=False, timeout=patience.seconds(60),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return dict(zip(CASES, zip(folders.values(), json.loads(done.stdout), strict=True), strict=True))


@needs_user_namespaces
@pytest.mark.parametrize("case", CASES)
def test_what_helps_is_said(case: str, request: pytest.FixtureRequest) -> None:
    here, lines = request.getfixturevalue("said")[case]
    _, name, says = CASES[case]
    for writer, elsewhere in ELSEWHERE.items():
        path = here / NAMED[writer].replace("x.", f"{name}.")
        line = f"cannot write {path}: {says.format(elsewhere=elsewhere)}"
        if writer == "journal":
            line = f"the run could not be saved, {line.partition('; ')[0]}; what is on the screen stays"
        assert lines[writer] == line


IMPORTED = Path(__file__).parents[1] / "exchange" / "files" / "iperf3-3.7-two-flows.json"
COMMANDS = {
    "run": ("run slow-start --backend replay", "measured"),
    "run --json": ("run slow-start --backend replay --json", '"throughput_bps"'),
    "import": (f"import {IMPORTED}", ""),
    "sweep": (
        "sweep parallel-streams/random-loss --grid duration=40s --backend replay -o there/x.tcpsweep",
        "",
    ),
    "plot": (f"plot {FOUR} -o there/x.svg", ""),
    "export": (f"export {FOUR} -o there/x.csv", ""),
}
"""Each with what it prints all the same."""
HOMES = {
    "full": "mount -t tmpfs -o size=16k none there; head -c 16384 /dev/zero > there/filler",
    "permission": "chmod 555 there",
    "read-only": "mount -t tmpfs -o ro none there",
}


@needs_user_namespaces
@pytest.mark.host
@pytest.mark.parametrize("home", HOMES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_cannot_save_ends_with_1(command: str, home: str, tmp_path: Path) -> None:
    """What it found is printed; one line says that it is not kept, why and how it would be."""
    words, printed = COMMANDS[command]
    (tmp_path / "there").mkdir()
    done = subprocess.run(
        [*ROOT, "--mount", "sh", "-c", f'{HOMES[home]}; {ORDINARY}"$@"', "-", *COMMAND, *words.split()],
        capture_output=True, text=True, check=False, timeout=patience.seconds(60), cwd=tmp_path,
        env={**os.environ, "XDG_DATA_HOME": f"{tmp_path}/there"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "cannot write " in done.stderr
    assert ("the run was not saved" in done.stderr) == command.startswith("run")
    assert printed in done.stdout
    assert bool(done.stdout) == bool(printed)
