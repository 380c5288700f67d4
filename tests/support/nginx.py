"""An nginx for tests, which runs shipping/nginx.conf with other ports and its own certificate."""

import os
import re
import shutil
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Self

from tests.support.process import ROOT, TIMEOUT, eventually
from tests.support.web import Wire

HOST = "satchel.example"
_MAIN = """\
{user}
daemon off;
pid {folder}/pid;
error_log {folder}/log;
worker_processes 2;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    include {folder}/satchel.conf;
}}
"""


def find_nginx() -> str | None:
    """Return the path of nginx if it is installed; tools/nginx installs it."""
    return shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


class Nginx:
    """A proxy in front of a test server; the end of the block stops it."""

    def __init__(self, folder: Path, satchel: int) -> None:
        self.folder = folder
        self.port, plain = _find_ports(2)
        cert, key = make_certificate(folder, HOST)
        self._trust = ssl.create_default_context(cafile=cert)
        text = (ROOT / "shipping" / "nginx.conf").read_text()
        for pattern, replacement in (
            (r"listen \[::\].*;", ""),
            (r"listen 80;", f"listen 127.0.0.1:{plain};"),
            (r"listen 443", f"listen 127.0.0.1:{self.port}"),
            (r"127\.0\.0\.1:8000", f"127.0.0.1:{satchel}"),
            (r"/etc/letsencrypt/\S+/fullchain\.pem", cert),
            (r"/etc/letsencrypt/\S+/privkey\.pem", key),
        ):
            text, count = re.subn(pattern, replacement, text)
            assert count, pattern
        (folder / "satchel.conf").write_text(text)
        user = "user root;" if os.geteuid() == 0 else ""  # otherwise, its workers could not read the folder
        (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, user=user))
        program = find_nginx()
        assert program is not None
        command = [program, "-c", str(folder / "nginx.conf"), "-e", str(folder / "log")]
        self._process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Self:
        assert eventually(self._listens), self.log
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(TIMEOUT)

    @property
    def log(self) -> str:
        """The error log of nginx."""
        return (self.folder / "log").read_text()

    def _listens(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def connect(self) -> Wire:
        """Open a connection over TLS, and check the certificate."""
        wire = Wire(self.port)
        wire.socket = self._trust.wrap_socket(wire.socket, server_hostname=HOST)
        return wire


def make_certificate(folder: Path, host: str) -> tuple[str, str]:
    """Make a certificate and its key; return the paths of both."""
    cert, key = str(folder / "cert.pem"), str(folder / "key.pem")
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", f"/CN={host}"]
    names = ["-addext", f"subjectAltName=DNS:{host},IP:127.0.0.1"]
    subprocess.run([*words, *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


def _find_ports(count: int) -> list[int]:
    """Return ports that are free now."""
    opened = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in opened]
    for one in opened:
        one.close()
    return ports
