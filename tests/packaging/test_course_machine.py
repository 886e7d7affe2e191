"""The machine for a course: built, booted under emulation, and used over SSH as a teacher and a student do."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import patience
from tests.packaging.conftest import ROOT
from tests.terminal.tmux import Tmux

pytestmark = [
    pytest.mark.host,
    pytest.mark.terminal,
    pytest.mark.skipif(
        shutil.which("mcopy") is None, reason="needs programs that `sh tcptutor/start test full` installs"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of a disk's users"),
]

BUILD = ROOT / "assets" / "integrations" / "vm" / "build"
RUN = "tcptutor run parallel-streams/random-loss --set duration=5s --set warmup=1s --seed 7 --backend host --json"


class Machine:
    """A machine that boots from a copy of `disk`; SSH reaches it on a port of this machine's loopback."""

    def __init__(self, folder: Path, disk: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        forward = f"user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:{self._port}-:22"
        self._process = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", "tcg", "-smp", "2", "-m", "1024", "-display", "none", "-snapshot",
             "-serial", f"file:{folder / 'console'}", "-drive", f"file={disk},if=virtio,format=qcow2", "-nic", forward]
        )  # fmt: skip

    def words(self, name: str, *words: str, terminal: bool = False) -> list[str]:
        """The command that runs `words` there as the user `name`, whose private key has the same name."""
        options = [
            "-o",
            "StrictHostKeyChecking=no",
            "-o",
            "UserKnownHostsFile=/dev/null",
            "-o",
            "LogLevel=ERROR",
        ]
        where = ["-p", str(self._port), "-i", str(self.folder / name), f"{name}@127.0.0.1"]
        return ["ssh", *(["-tt"] if terminal else []), *options, *where, *words]

    def wait(self) -> None:
        """Wait until the teacher can log in."""
        deadline = patience.Deadline(180)
        while deadline.left:
            done = subprocess.run(self.words("teacher", "true"), capture_output=True, check=False)
            if done.returncode == 0:
                return
            assert self._process.poll() is None, "the machine has ended"
            time.sleep(2)
        raise AssertionError((self.folder / "console").read_text(errors="replace")[-3000:])

    def run(self, name: str, words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(name, words), input=given, capture_output=True, text=True, check=False,
            timeout=patience.seconds(120),
        )  # fmt: skip

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def _key(folder: Path, name: str) -> str:
    """Make a pair of keys and return the public one."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    return (folder / f"{name}.pub").read_text()


@pytest.fixture
def machine(wheel: Path, tmp_path: Path) -> Iterator[Machine]:
    _key(tmp_path, "teacher")
    (tmp_path / "accounts").write_text(f"# The first week\nada {_key(tmp_path, 'ada')}")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", BUILD, "--key", "teacher.pub", "--accounts", "accounts", wheel, "course.qcow2"],
        cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ada can log in" in done.stdout
    made = Machine(tmp_path, tmp_path / "course.qcow2")
    try:
        made.wait()
        yield made
    finally:
        made.close()
        shutil.rmtree(tmp_path)  # no gigabyte for each of the last three runs


def test_a_course_on_a_machine_of_its_own(machine: Machine) -> None:
    # The teacher adds a student next to wrong lines, which stop nobody.
    lines = f"root {_key(machine.folder, 'root')}Bad! key\ngrace {_key(machine.folder, 'grace')}eve no-key\n"
    added = machine.run("teacher", "sudo course-accounts", lines)
    assert (added.returncode, added.stdout) == (1, "grace can log in\n")
    assert [line.split(": ")[1] for line in added.stderr.splitlines()] == ["line 1", "line 2", "line 4"]
    # Nobody else gets in, and a student is no administrator.
    assert machine.run("root", "true").returncode != 0
    assert machine.run("grace", "sudo -n true").returncode != 0
    # A first run, in the machine's own kernel.
    ran = machine.run("ada", RUN)
    assert ran.returncode in {0, 1}, ran.stderr  # 1: emulated, it may be too slow to be sure of its delays
    document = json.loads(ran.stdout)
    assert document["environment"]["backend"] == "host"
    assert document["flows"][0]["throughput_bps"] > 0
    # A login opens the app; a dropped line costs nothing.
    line = Tmux(shlex.join(machine.words("grace", terminal=True)), machine.folder)
    try:
        line.wait_for("Enter", 120)
        line.keys("p")
        line.wait_for("bandwidth-delay product", 60)
    finally:
        line.close()
    line = Tmux(shlex.join(machine.words("grace", terminal=True)), machine.folder)
    try:
        line.wait_for("bandwidth-delay product", 60)
    finally:
        line.close()
