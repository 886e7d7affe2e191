"""`tcptutor setup` as a user meets it: what it asks, skips, replaces and leaves behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tcptutor.backends.guest import cached_files as half_built
from tcptutor.backends.guest.snapshots import Snapshots
from tests import leftovers, patience
from tests.install.command import NOBODY, ROOT, TCPTUTOR, in_terminal, needs_user_namespaces, programs, run
from tests.install.conftest import Cache

SETUP = [*TCPTUTOR, "setup"]


def _wait_for(pattern: str, folder: Path, seconds: float = 20) -> Path:
    deadline = patience.Deadline(seconds)
    while deadline.left:
        if found := list(folder.glob(pattern)):
            return found[0]
        time.sleep(0.02)
    raise AssertionError(f"no {pattern} after {seconds} s")


def _until_it_boots(mark: str, seconds: float = 20) -> None:
    """Wait until the guest has run for a fifth of a second."""
    deadline = patience.Deadline(seconds)
    while deadline.left:
        for line in leftovers.marked(mark):
            number, _, command = line.partition(" ")
            if "qemu-system" in command:
                spent = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[11:13]
                if sum(map(int, spent)) > 0.2 * os.sysconf("SC_CLK_TCK"):
                    return
        time.sleep(0.02)
    raise AssertionError("no guest boots")


def _background(words: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _on_small_disk(
    cache: Cache, size: str, script: str, *words: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run the shell `script` with `words` where the cache folder is a disk of `size`."""
    cache.home.mkdir()
    mount = f'mount -t tmpfs -o size={size} none "$XDG_CACHE_HOME" || exit 99; '
    return run([*ROOT, "--mount", "sh", "-c", mount + script, "-", *words])


@pytest.mark.guest
def test_what_is_there_is_left_as_it_is_and_proved_to_work(
    mark: str, snapshots: Snapshots, cache: Cache
) -> None:
    cache.fill(snapshots)
    before = {path: path.lstat().st_mtime_ns for path in cache.guest.rglob("*") if not path.is_dir()}
    done = run(SETUP)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("already built") == 3
    assert "setup will" not in done.stdout
    assert "the lab works: " in done.stdout
    assert " of 19.13 Mbit/s" in done.stdout
    assert {path: path.lstat().st_mtime_ns for path in before} == before


@pytest.mark.guest
def test_half_built_is_replaced_and_a_second_setup_waits(
    mark: str, snapshots: Snapshots, cache: Cache
) -> None:
    cache.fill(snapshots)
    cache.truncate("virtual.snapshot")
    ended = subprocess.Popen(["true"])
    ended.wait()
    (cache.guest / f".snapshot.real.{ended.pid}").write_bytes(b"half")
    (cache.guest / f"image.{ended.pid}.part").mkdir()
    first = _background([*SETUP, "--yes"])
    assert leftovers.wait_for(mark, "qemu-system")
    second = _background([*SETUP, "--yes"])
    out, errors = first.communicate(timeout=patience.seconds(300))
    assert (first.returncode, errors) == (0, "")
    assert "removed 2 leftovers" in out
    assert "already built: guest image" in out
    assert "already built: snapshot, real clock" in out
    assert "built snapshot, virtual clock" in out
    out, errors = second.communicate(timeout=patience.seconds(300))
    assert (second.returncode, errors) == (0, "")
    assert out.startswith("another setup is running")
    assert out.count("already built") == 3
    assert cache.unfinished() == []
    assert (
        Snapshots().manifest("virtual").environment.kernel == snapshots.manifest("virtual").environment.kernel
    )


@pytest.mark.guest
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_end_while_the_guest_boots_leaves_nothing(
    mark: str, snapshots: Snapshots, cache: Cache, number: signal.Signals
) -> None:
    cache.fill(snapshots)
    (cache.guest / "virtual.json").unlink()
    setup = _background([*SETUP, "--yes"])
    assert leftovers.wait_for(mark, "qemu-system")
    _until_it_boots(mark)
    setup.send_signal(number)
    _, errors = setup.communicate(timeout=patience.seconds(20))
    assert setup.returncode == 1
    assert errors == "tcptutor: stopped: finished parts stay, and `tcptutor setup` continues from them\n"
    assert cache.unfinished() == []


@pytest.mark.host
def test_an_end_while_packages_are_fetched_leaves_nothing(
    mark: str, cache: Cache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    setup = _background([*SETUP, "--yes"])
    _wait_for("image.*.part/log", cache.guest)
    assert leftovers.wait_for(mark, "mmdebstrap")
    setup.send_signal(signal.SIGINT)
    _, errors = setup.communicate(timeout=patience.seconds(60))
    assert setup.returncode == 1
    assert errors.startswith("tcptutor: stopped")
    assert cache.unfinished() == []
    assert list(temporary.iterdir()) == []


@pytest.mark.host
def test_a_kill_while_packages_are_fetched_leaves_no_process_and_no_mount(mark: str, cache: Cache) -> None:
    mounts = Path("/proc/self/mountinfo").read_text()
    setup = _background([*SETUP, "--yes"])
    _wait_for("image.*.part/log", cache.guest)
    assert leftovers.wait_for(mark, "mmdebstrap")
    assert leftovers.wait_for(mark, "apt-get")
    setup.kill()
    setup.communicate(timeout=patience.seconds(20))
    assert leftovers.wait_until_none(mark) == []
    assert Path("/proc/self/mountinfo").read_text() == mounts
    assert [name for name in cache.unfinished() if name.endswith(".part")]
    assert half_built.remove_leftovers(cache.guest) == 1
    assert cache.unfinished() == []


def test_without_a_terminal_and_yes_nothing_begins(cache: Cache) -> None:
    done = run(SETUP)
    assert done.returncode == 2
    assert done.stderr == ("tcptutor: setup needs a terminal for its question: run `tcptutor setup --yes`\n")
    assert "build   guest image" in done.stdout
    assert not cache.guest.exists()


def test_no_is_an_answer(cache: Cache) -> None:
    code, shown = in_terminal(SETUP, typed="n\n")
    assert code == 1
    assert "Go on? [Y/n]" in shown
    assert shown.endswith("tcptutor: nothing was changed: run `tcptutor setup` when you want the lab\n")
    assert not cache.guest.exists()


@needs_user_namespaces
def test_who_cannot_become_root_reads_what_to_type(cache: Cache, tmp_path: Path) -> None:
    path = programs(tmp_path / "bin", "apt-get", "unshare", "setpriv", "ip")
    done = run([*NOBODY, *SETUP, "--yes"], PATH=path)
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    _, _, typed = line.partition("ask an administrator to run apt-get update; apt-get install ")
    packages, _, then = typed.partition("; then run ")
    assert {"iperf3", "mininet", "mmdebstrap", "qemu-system-x86", "zstd"} <= set(packages.split())
    assert then == "`tcptutor setup` again"
    assert not cache.guest.exists()


@pytest.mark.host
@needs_user_namespaces
def test_a_full_disk_is_said_before_anything_is_built(cache: Cache) -> None:
    done = _on_small_disk(
        cache, "100m", '"$@"; code=$?; ls -A "$XDG_CACHE_HOME/tcptutor"; exit $code', *SETUP, "--yes"
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tcptutor: the disk is too full: setup needs 595 MB in ")
    assert (
        "104 MB are free: free some space" in done.stderr or "105 MB are free: free some space" in done.stderr
    )
    assert done.stderr.count("\n") == 1
    assert done.stdout.splitlines()[-1] == "setup.lock"


FILLS_UP = """
import sys
from pathlib import Path
from tcptutor.backends.guest import cached_files as half_built
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import SetupError
from tcptutor.install import guest_parts

snapshots = Snapshots()

def bar(part):
    # There was room when setup looked. Now, before the first byte is written, somebody else takes it.
    try:
        with (snapshots.folder / "other").open("wb") as other:
            while True:
                other.write(bytes(100_000))
    except OSError:
        return lambda share, text: None

try:
    guest_parts.build(snapshots, ["virtual"], bar)
except SetupError as error:
    print(error)
"""


@needs_user_namespaces
@pytest.mark.guest
def test_a_disk_that_fills_up_during_the_build_is_said_and_left_clean(
    mark: str, snapshots: Snapshots, cache: Cache
) -> None:
    script = (
        'guest=$XDG_CACHE_HOME/tcptutor/guest; mkdir -p "$guest"; cp -r "$1" "$guest/image"; shift; '
        '"$@"; ls -A "$guest"'
    )
    done = _on_small_disk(cache, "440m", script, snapshots.image.folder, TCPTUTOR[0], "-c", FILLS_UP)
    said, *left = done.stdout.splitlines()
    assert said.startswith("the disk filled up while the guest was built in "), done.stderr
    assert said.endswith("free some space, or set XDG_CACHE_HOME to a folder on another disk")
    assert left == ["image", "image.lock", "other", "virtual.lock"]
    assert done.stderr == ""


def test_a_folder_that_cannot_be_written_is_said() -> None:
    done = run([*SETUP, "--yes"], XDG_CACHE_HOME="/proc/here")
    assert done.returncode == 1
    assert done.stderr == (
        "tcptutor: cannot write in /proc/here/tcptutor: No such file or directory: "
        "set XDG_CACHE_HOME to a folder of yours\n"
    )


@pytest.mark.guest
def test_ready_is_when_setup_has_nothing_to_do(snapshots: Snapshots, cache: Cache, tmp_path: Path) -> None:
    ready = [TCPTUTOR[0], "-m", "tcptutor.install.setup_plan"]
    cache.fill(snapshots)
    assert run(ready).returncode == 0
    assert run(ready, PATH=programs(tmp_path / "bin")).returncode == 1
    (cache.guest / "real.json").unlink()
    done = run(ready)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
