"""Places where nothing can be written: every writer says in one line why, and what would help."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import patience
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


@needs_user_namespaces
@pytest.mark.parametrize(
    ("prepare", "name", "says"),
    [
        (
            "mount -t tmpfs -o size=16k none here; head -c 16384 /dev/zero > here/filler",
            "x",
            "No space left on device: free some space, or {elsewhere}",
        ),
        ("chmod 555 here", "x", "Permission denied: make it writable for you, or {elsewhere}"),
        ("mount -t tmpfs -o ro none here", "x", "Read-only file system: {elsewhere}"),
        ("rmdir here; touch here", "x", "Not a directory: {elsewhere}"),
        ("cd here; mkdir -p {folders}; cd ..", "x", "Is a directory: give the name of a file in it"),
        ("", "x" * 300, "File name too long: give a shorter name"),
    ],
    ids=["full", "permission", "read-only", "file in the way", "folder in the way", "name"],
)
def test_what_helps_is_said(tmp_path: Path, prepare: str, name: str, says: str) -> None:
    (tmp_path / "here").mkdir()
    script = prepare.format(folders=" ".join(f"{named}/inside" for named in NAMED.values()))
    done = subprocess.run(
        [*ROOT, "--mount", "sh", "-c", f'root=$PWD; cd "$1"; {script or ":"}; cd "$root"; shift; {ORDINARY}"$@"', "-",
         tmp_path, sys.executable, "-m", "tests.faults.writers", tmp_path / "here", name],
        capture_output=True, text=True, check=False, timeout=patience.seconds(60),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    for writer, elsewhere in ELSEWHERE.items():
        path = tmp_path / "here" / NAMED[writer].replace("x.", f"{name}.")
        line = f"cannot write {path}: {says.format(elsewhere=elsewhere)}"
        if writer == "journal":
            line = f"the run could not be saved, {line.partition('; ')[0]}; what is on the screen stays"
        assert said[writer] == line
