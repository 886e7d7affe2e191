"""A real nginx with TLS in front of a server, from the configuration that the documentation names."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.base import places
from tests.patience import Deadline

_MAIN = """
daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; {user}
events {{ }}
http {{
    access_log {folder}/access.log;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def make_certificate(folder: Path, name: str) -> Path:
    """A self-signed certificate for `name`, with its key beside it."""
    certificate = folder / "lab.pem"
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"),
            *("-keyout", str(folder / "lab.key"), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate


@contextlib.contextmanager
def nginx(folder: Path, name: str, port: int, server: int) -> Iterator[Path]:
    """Run nginx as https://NAME:PORT in front of the server on that port; yields the certificate."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.fail("this test needs nginx: apt-get install nginx-light")
    folder.mkdir()
    certificate = make_certificate(folder, name)
    site = (places.assets() / "serve" / "nginx.conf").read_text()
    for shipped, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("lab.example.edu", name),
        ("/etc/ssl/lab", f"{folder}/lab"),
        ("127.0.0.1:8787", f"127.0.0.1:{server}"),
    ):
        assert shipped in site
        site = site.replace(shipped, here)
    (folder / "site.conf").write_text(site)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, user=user))
    command = [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = Deadline(20)
            while not _listens(port):
                assert process.stderr is not None
                assert process.poll() is None, process.stderr.read()
                assert deadline.left
            yield certificate
        finally:
            process.terminate()


def _listens(port: int) -> bool:
    with contextlib.suppress(ConnectionError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def errors(folder: Path) -> list[str]:
    """What nginx has logged as an error."""
    return re.findall(r".*\[(?:error|crit|alert|emerg)\].*", (folder / "error.log").read_text())
