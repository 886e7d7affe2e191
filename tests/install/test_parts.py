"""The parts of setup alone: leftovers, apt's errors, and the judgement of the last short run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tcptutor.backends.guest import cached_files
from tcptutor.base.errors import SetupError
from tcptutor.install import packages, setup
from tcptutor.run import Environment, Fidelity, FlowResult, Run
from tests.install.command import ROOT, TCPTUTOR, needs_user_namespaces, run


def test_only_what_no_living_process_has_made_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    us = os.getpid()
    killed = subprocess.Popen(["true"])  # and nobody has waited for it yet
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    (tmp_path / f".initrd.virtual.{killed.pid}").write_text("")
    (tmp_path / f"image.{ended.pid}.part").mkdir()
    (tmp_path / f"image.{ended.pid}.part" / "log").write_text("half")
    for name in (
        f".initrd.virtual.{ended.pid}",
        f".snapshot.real.{us}",
        f".initrd.real.{us}",
        "real.snapshot",
        "real.json",
    ):
        (tmp_path / name).write_text("")
    # Older than the process that has its number now: a machine or a container was started again.
    os.utime(tmp_path / f".initrd.real.{us}", (1e9, 1e9))
    assert cached_files.remove_leftovers(tmp_path) == 4
    killed.wait()
    assert {path.name for path in tmp_path.iterdir()} == {
        f".snapshot.real.{us}",
        "real.snapshot",
        "real.json",
    }
    assert cached_files.remove_leftovers(tmp_path / "not there") == 0


@pytest.mark.host
@needs_user_namespaces
def test_apt_that_fails_is_one_line_with_its_last_error(tmp_path: Path) -> None:
    call = (
        "import sys; from pathlib import Path; from tcptutor.install import packages\n"
        "packages.install(['tcptutor-no-such-package'], Path(sys.argv[1]))"
    )
    log, settings = tmp_path / "log", tmp_path / "apt.conf"
    # No sources, and folders of its own: quick, and the machine's lists stay as they are.
    settings.write_text(
        'Dir::Etc::sourcelist "/dev/null"; Dir::Etc::sourceparts "/dev/null"; '
        f'Dir::State::lists "{tmp_path}/lists"; Dir::Cache "{tmp_path}/cache";'
    )
    done = run([*ROOT, TCPTUTOR[0], "-c", call, log], APT_CONFIG=str(settings))
    line = done.stderr.splitlines()[-1]
    assert line.startswith("tcptutor.base.errors.SetupError: apt-get failed: ")
    assert line.endswith(
        "as root: apt-get update; apt-get install --yes --no-install-recommends tcptutor-no-such-package"
    )
    reported = line.removeprefix("tcptutor.base.errors.SetupError: apt-get failed: ").partition(
        f" (full log: {log})"
    )[0]
    assert f"E: {reported}" in log.read_text().splitlines()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Reading package lists...\nE: Unable to locate package x\n", "Unable to locate package x"),
        ("Err:1 http://x\nE: one\nE: two\nW: three\n", "two"),
        ("sudo: a password is required\n", "sudo: a password is required"),
        ("", "no message"),
    ],
)
def test_the_last_error_is_found(tmp_path: Path, said: str, told: str) -> None:
    (tmp_path / "log").write_text(said)
    assert packages.last_error(tmp_path / "log") == told


def _run(mbit: float, ping_ms: float, fidelity: str = "valid") -> Run:
    flow = FlowResult(
        flow=0, pair=0, throughput_bps=mbit * 1e6, retransmits=0, losses=0, segments=1, mean_rtt_s=0.01,
        mean_cwnd_segments=10, mss=1448,
    )  # fmt: skip
    checks: dict[str, float | int | str | bool] = {"ping h1": ping_ms / 1e3}
    reasons = ("h2 does not answer",) if fidelity == "invalid" else ()
    return Run(
        id="r1",
        experiment=setup.trial_experiment(),
        environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
        started="2026-01-01T00:00:00+00:00",
        flows=[flow],
        fidelity=Fidelity(status=fidelity, reasons=reasons, checks=checks),  # type: ignore[arg-type]
        complete=True,
    )


def test_a_right_result_is_told_with_its_expectation() -> None:
    assert (
        setup.judge(_run(19.0, 10.04))
        == "guest, virtual clock, Linux 6.12: 19.00 of 19.13 Mbit/s, ping 10.04 of 10 ms"
    )


@pytest.mark.parametrize(
    ("run", "what"),
    [
        (_run(17.9, 10), "measures 17.90 of 19.13 Mbit/s"),
        (_run(20.3, 10), "measures 20.30 of 19.13 Mbit/s"),
        (_run(19.1, 17), "ping 17.00 of 10 ms"),
        (_run(19.1, 10, "invalid"), "h2 does not answer"),
    ],
)
def test_a_wrong_result_fails_the_setup(run: Run, what: str) -> None:
    with pytest.raises(SetupError, match=what):
        setup.judge(run)
