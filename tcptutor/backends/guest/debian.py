"""Debian's packages for the image: the request to mmdebstrap, the versions fetched, and the reasons for failures."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path

from tcptutor.backends import tools
from tcptutor.base.errors import SetupError, quoted

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+:~-]*")
"""Names and versions of packages (Debian Policy, sections 5.6.1 and 5.6.12)."""
_NO_VERSION = re.compile(r"E: Version '(?P<version>[^']*)' for '(?P<name>[^']*)' was not found")


def package_list(names: Iterable[str], versions: Mapping[str, str]) -> str:
    """Return mmdebstrap's list of packages: `names`, and the packages of `versions` pinned to these versions.

    Raises SetupError for an invalid name or version, which apt might take for an option or a file.
    """
    for name, version in versions.items():
        if not (_NAME.fullmatch(name) and _VERSION.fullmatch(version)):
            raise SetupError(
                f"{quoted(f'{name} {version}')} is not a Debian package: choose another run to rebuild its lab"
            )
    wanted = {**dict.fromkeys(names, ""), **versions}
    return ",".join(f"{name}={version}" if version else name for name, version in sorted(wanted.items()))


def parse_versions(files: Iterable[str]) -> dict[str, str]:
    """Return the version of each package from file names of the form NAME_VERSION_ARCHITECTURE.deb."""
    named = (file.removesuffix(".deb").split("_") for file in files if file.endswith(".deb"))
    return {name: version.replace("%3a", ":") for name, version, _ in named}


def tool_versions() -> dict[str, str]:
    """Return the version lines of the programs that affect the image's bytes."""
    versions = {}
    for name in ("tar2sqfs", "depmod"):
        done = subprocess.run([tools.find(name), "--version"], capture_output=True, text=True, check=False)
        versions[name] = next(iter(done.stdout.splitlines()), "")
    return versions


def failure_reason(log: Path) -> str:
    """Return the reason for a failed build from the tools' `log`: versions that are gone, or the last error."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    gone = [f"{found['name']} {found['version']}" for line in lines if (found := _NO_VERSION.match(line))]
    if gone:
        return f"no longer available from Debian: {', '.join(gone)}"
    messages = [line for line in lines if line.strip() and not line.startswith("I:")]
    errors = [line for line in messages if line.startswith(("E:", "Err:"))] or messages
    return errors[-1] if errors else ""
