"""Debian's packages for the image: how they are asked for, which came, and what is said where they cannot be had."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tcptutor.backends import tools
from tcptutor.base.errors import SetupError, quoted

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
"""Debian Policy, sections 5.6.1 and 5.6.12."""
_NO_VERSION = re.compile(r"E: Version '(?P<version>[^']*)' for '(?P<name>[^']*)' was not found")


def asked_for(names: Iterable[str], versions: Mapping[str, str]) -> str:
    """The packages for mmdebstrap: these, and those of `versions` in just these.

    Raises SetupError for what is no name or version of a package: apt would take an option or a file for one as well.
    """
    for name, version in versions.items():
        if not (_NAME.fullmatch(name) and _VERSION.fullmatch(version)):
            raise SetupError(
                f"{quoted(f'{name} {version}')} is no package of Debian's: take another run to build its lab again"
            )
    wanted = {**dict.fromkeys(names, ""), **versions}
    return ",".join(f"{name}={version}" if version else name for name, version in sorted(wanted.items()))


def versions_of(files: Iterable[str]) -> dict[str, str]:
    """Of packages, from the names of their files: NAME_VERSION_ARCHITECTURE.deb."""
    named = (file.removesuffix(".deb").split("_") for file in files if file.endswith(".deb"))
    return {name: version.replace("%3a", ":") for name, version, _ in named}


def packed_by() -> dict[str, str]:
    """What the programs say of themselves that decide what an image's files are, but for what is in them."""
    said = {}
    for name in ("tar2sqfs", "depmod"):
        done = subprocess.run([tools.find(name), "--version"], capture_output=True, text=True, check=False)
        said[name] = next(iter(done.stdout.splitlines()), "")
    return said


def why_not(log: Path) -> str:
    """Why no image came of it, from what the tools have said: the last error, or all versions that are gone."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    gone = [f"{found['name']} {found['version']}" for line in lines if (found := _NO_VERSION.match(line))]
    if gone:
        return f"no longer to be had from Debian: {', '.join(gone)}"
    told = [line for line in lines if line.strip() and not line.startswith("I:")]
    errors = [line for line in told if line.startswith(("E:", "Err:"))] or told
    return errors[-1] if errors else ""
