"""The container's image, built by buildah from Debian packages alone, and a first run in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT

pytestmark = [
    pytest.mark.host,
    pytest.mark.skipif(
        shutil.which("buildah") is None, reason="needs programs that `sh tcptutor/start test full` installs"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="buildah without a user namespace of its own needs root"),
]

RECIPE = ROOT / "assets" / "integrations" / "container" / "Dockerfile"
RUN = ("tcptutor", "run", "parallel-streams/random-loss", "--set", "duration=5s", "--seed", "7", "--json")


class Buildah:
    """buildah with images of its own in `folder`, and no rights but to change root."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._environment = {**os.environ, "BUILDAH_ISOLATION": "chroot", "TMPDIR": str(folder)}

    def __call__(self, *words: str | Path) -> str:
        done = subprocess.run(
            ["buildah", "--root", self._folder / "images", "--runroot", self._folder / "running", *words],
            env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        return done.stdout.strip()


@pytest.fixture
def buildah(tmp_path: Path) -> Iterator[Buildah]:
    tool = Buildah(tmp_path)
    yield tool
    tool("rm", "--all")
    tool("rmi", "--all", "--force")
    shutil.rmtree(tmp_path, ignore_errors=True)


def _import_debian(buildah: Buildah, folder: Path) -> str:
    """Make a base image from Debian's packages, as there may be no registry, and return its name."""
    base = folder / "base.tar"
    subprocess.run(
        ["mmdebstrap", "--quiet", "--variant=minbase", "trixie", base], check=True, capture_output=True
    )
    empty = buildah("from", "scratch")
    buildah("add", "--quiet", empty, base, "/")
    buildah("commit", "--quiet", "--rm", empty, "localhost/trixie")
    base.unlink()
    return "localhost/trixie"


def _authorities(folder: Path) -> list[str]:
    """Options that let pip in the image trust the certificates that this machine trusts."""
    here = os.environ.get("PIP_CERT") or os.environ.get("SSL_CERT_FILE")
    if not here:
        return []
    (folder / "pip.conf").write_text("[global]\ncert = /certificates.crt\n")
    return ["--volume", f"{here}:/certificates.crt:ro", "--volume", f"{folder / 'pip.conf'}:/etc/pip.conf:ro"]


def test_the_image_has_a_lab_and_makes_a_run(buildah: Buildah, wheel: Path, tmp_path: Path) -> None:
    context = tmp_path / "context"
    context.mkdir()
    shutil.copy(RECIPE, context)
    shutil.copy(wheel, context)
    base = _import_debian(buildah, tmp_path)
    buildah(
        "bud", "--pull-never", "--network", "host", "--build-arg", f"BASE={base}", *_authorities(tmp_path),
        "-t", "localhost/tcptutor", context,
    )  # fmt: skip
    container = buildah("from", "--pull-never", "localhost/tcptutor")
    assert buildah("run", container, "--", "id", "-un") == "student"
    document = json.loads(buildah("run", container, "--", *RUN))
    assert document["environment"]["backend"] == "guest"
    assert document["flows"][0]["throughput_bps"] > 0
