"""Debian's packages for the image: asked for in versions, known by their files, and what is said of those gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.backends.guest import recipe
from tcptutor.base.errors import SetupError


def test_versions_are_asked_for_where_they_are_known() -> None:
    assert (
        recipe.package_list(["iperf3", "bash"], {"bash": "5.2-1", "libc6": "2.41"})
        == "bash=5.2-1,iperf3,libc6=2.41"
    )


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("-oDir::Etc=/tmp", "1"),
        ("/tmp/evil.deb", "1"),
        ("bash,/tmp/evil.deb", "1"),
        ("?essential", "1"),
        ("bash", "5.2 -oDebug=1"),
        ("bash", ""),
    ],
)
def test_what_is_no_package_is_not_asked_for(name: str, version: str) -> None:
    with pytest.raises(SetupError, match="is not a Debian package: choose another run"):
        recipe.package_list(["bash"], {name: version})


def test_a_file_names_its_package_and_version() -> None:
    files = ["busybox-static_1%3a1.37.0-6_amd64.deb", "base-files_13.8+deb13u8_amd64.deb", "lock", "partial"]
    assert recipe.parse_versions(files) == {"busybox-static": "1:1.37.0-6", "base-files": "13.8+deb13u8"}


def test_all_versions_that_are_gone_are_named(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "I: downloading packages with apt...\n"
        "E: Version '9.9' for 'busybox-static' was not found\n"
        "E: Version '3.0' for 'iperf3' was not found\n"
        "E: apt download failed: E: apt-get --yes failed\nE: mmdebstrap failed to run\n"
    )
    assert recipe.failure_reason(log) == "no longer available from Debian: busybox-static 9.9, iperf3 3.0"


def test_another_error_is_told_by_its_last_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("I: begin\nErr:1 http://deb trixie\nE: cannot reach it\nI: removing\n")
    assert recipe.failure_reason(log) == "E: cannot reach it"
    assert recipe.failure_reason(tmp_path / "none") == ""
