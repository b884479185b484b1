"""Tests of serving the web application: headers, caching, and paths."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from svc.actors.context import Context
from svc.api.contract import ENDPOINTS
from svc.config import ConfigError
from svc.http.serving import web
from svc.http.serving.app import create_app
from svc.http.serving.deps import Deps
from svc.http.serving.web import load_web
from svc.worker.bundle import load_bundle
from tests.clock import FrozenClock
from tests.http.conftest import config_of

SHELL = b"<!doctype html><title>svc</title>" + b" " * 2_000
SCRIPT = b"export const answer = 42;" * 100
HELP = {
    "help/index.html": b"<!doctype html><title>Help</title>",
    "help/keys.html": b"<!doctype html><title>Keys</title>" + b" " * 2_000,
    "help/keys.md": b"# Keys\n",
    "help/missing.html": b"<!doctype html><title>Page not found</title>",
    "help/llms.txt": b"# svc\n",
}
PAGES = ("/", "/sign-in", "/sites", "/sites/new", "/sites/:id", "/sites/:id/settings", "/reference")
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def built(folder: Path) -> Path:
    """Write the build output of a small application."""
    dist = folder / "dist"
    (dist / "assets").mkdir(parents=True)
    (dist / "help").mkdir()
    files = {"assets/app-AB12.js": SCRIPT, "index.html": SHELL, "share.html": SHELL, "favicon.svg": b"<svg/>", **HELP}
    for name, body in files.items():
        (dist / name).write_bytes(body)
        if len(body) > 1_024:
            (dist / f"{name}.gz").write_bytes(gzip.compress(body))
            (dist / f"{name}.br").write_bytes(b"br of " + name.encode())
    pages = {
        "/help": {"file": "help/index.html", "type": "text/html; charset=utf-8"},
        "/help/use/keys": {"file": "help/keys.html", "type": "text/html; charset=utf-8"},
        "/help/use/keys.md": {"file": "help/keys.md", "type": "text/markdown; charset=utf-8"},
        "/llms.txt": {"file": "help/llms.txt", "type": "text/plain; charset=utf-8"},
    }
    manifest = {
        "files": {"/assets/app-AB12.js": {"type": "text/javascript; charset=utf-8", "bytes": len(SCRIPT)}},
        "components": [],
        "help": {"pages": pages, "missing": "help/missing.html", "files": []},
    }
    (dist / "manifest.json").write_text(json.dumps(manifest))
    (folder / "pages.json").write_text(json.dumps([{"path": path, "public": True} for path in PAGES]))
    return folder


def test_page_with_all_components_is_served_only_in_demonstrations(tmp_path):
    folder = built(tmp_path)
    (folder / "dist/components.html").write_bytes(SHELL)
    script = {"/assets/app-AB12.js"}
    manifest = json.loads((folder / "dist/manifest.json").read_text())
    (folder / "dist/manifest.json").write_text(json.dumps({**manifest, "components": [*script]}))
    usual = load_web("", folder)
    shown = load_web("", folder, demonstration="{}")
    for path in ("/components", *script):
        assert usual.find(path) is None
        assert shown.find(path) is not None


class NoStore:
    """A store without methods. Any use fails, because pages must not use the store."""


def deps_of(folder: Path, **more: Any) -> Deps:
    nothing = cast("Any", NoStore())
    context = Context(nothing, nothing, nothing, config_of(folder), FrozenClock(), load_bundle(), push_url="")
    return Deps(context, nothing, "https://svc.example", **more)


def client_of(app: Any) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(transport=transport, base_url="https://svc.example", headers={"Accept-Encoding": ""})


@pytest.fixture(scope="session")
def deps(tmp_path_factory):
    """A service that includes the web application. Its store must not be used."""
    folder = tmp_path_factory.mktemp("web")
    return deps_of(folder, web=load_web("https://svc.example", built(folder)))


@pytest.fixture(scope="session")
def app(deps):
    """The application. Tests share it, because it has no state and takes 0.25 s to create."""
    return create_app(deps)


@pytest.fixture
async def client(app):
    async with client_of(app) as opened:
        yield opened


@pytest.mark.parametrize("path", [*PAGES[:4], "/sites/site_1", "/sites/site_1/settings"])
async def test_every_page_is_the_shell(client, path):
    response = await client.get(path, headers=HTML)
    assert (response.status_code, response.content) == (200, SHELL)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-cache"
    assert response.headers["Content-Security-Policy"] == web.POLICY
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert re.fullmatch(r"req_\w{20}", response.headers["X-Request-Id"])


def test_security_headers_match_the_documentation():
    documented = (Path(__file__).parents[3] / "docs/operate/tls.md").read_text()
    for name, value in web.HEADERS.items():
        assert f"{name}: {value}\n" in documented


async def test_cached_file_is_not_sent_again(client):
    first = await client.get("/")
    for known in (first.headers["ETag"], f'"x", {first.headers["ETag"]}', f'{first.headers["ETag"]},"x"'):
        again = await client.get("/sites", headers={"If-None-Match": known})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["Cache-Control"] == "no-cache"
        assert again.headers["Content-Security-Policy"] == web.POLICY
    assert (await client.get("/", headers={"If-None-Match": '"x"'})).status_code == 200


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("GZIP", "gzip"),
        ("br;q=0, gzip;q=0.5", "gzip"),
        ("br;q=0.0", None),
        ("identity", None),
        ("", None),
    ],
)
async def test_file_has_the_smallest_accepted_encoding(client, accepted, encoding):
    response = await client.get("/assets/app-AB12.js", headers={"Accept-Encoding": accepted})
    assert response.headers.get("Content-Encoding") == encoding
    assert response.headers["Vary"] == "Accept-Encoding"
    assert response.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
    if encoding != "br":  # the test data is not real Brotli data, and httpx may not support Brotli
        assert response.content == SCRIPT


async def test_icon_and_robots_txt(client):
    icon = await client.get("/favicon.svg", headers={"Accept-Encoding": "br"})
    assert (icon.headers["Content-Type"], icon.content) == ("image/svg+xml", b"<svg/>")
    assert "Vary" not in icon.headers
    assert (await client.get("/robots.txt")).text == "User-agent: *\nDisallow: /\n"


@pytest.mark.parametrize(
    ("path", "file", "kind"),
    [
        ("/help", "help/index.html", "text/html"),
        ("/help/use/keys", "help/keys.html", "text/html"),
        ("/help/use/keys.md", "help/keys.md", "text/markdown"),
        ("/llms.txt", "help/llms.txt", "text/plain"),
    ],
)
@pytest.mark.parametrize("accept", ["*/*", HTML["Accept"], "application/json"])
async def test_help_is_served_without_sign_in_and_revalidated(client, path, file, kind, accept):
    response = await client.get(path, headers={"Accept": accept, "Cookie": "session=x", "Authorization": "Bearer x"})
    assert (response.status_code, response.content) == (200, HELP[file])
    assert response.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-cache"
    assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert {name: response.headers[name] for name in web.HEADERS} == web.HEADERS
    assert "Set-Cookie" not in response.headers
    again = await client.get(path, headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert {name: again.headers[name] for name in web.HEADERS} == web.HEADERS
    other = await client.get(path, headers={"If-None-Match": '"of another version"'})
    assert (other.status_code, other.content) == (200, HELP[file])


async def test_help_page_is_compressed(client):
    response = await client.get("/help/use/keys", headers={"Accept-Encoding": "gzip"})
    assert (response.headers["Content-Encoding"], response.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert response.content == HELP["help/keys.html"]


@pytest.mark.rule("G8")
@pytest.mark.parametrize(
    "path",
    [
        "/help/nothing", "/help/use/keys/", "/help/", "/help/use/%2e%2e/pages.json",
        "/help/missing", "/help/use/keys.html", "/help/use/KEYS", "/help/use/keys%00", "/help//use/keys",
    ],
)  # fmt: skip
async def test_unknown_help_page_has_the_navigation_of_the_help(client, path):
    assert (await client.get(path)).json()["error"]["code"] == "not_found"
    shown = await client.get(path, headers=HTML)
    assert shown.status_code == 404
    if "%00" not in path:  # the server rejects %00 before it determines the route
        assert shown.content == HELP["help/missing.html"]
        assert shown.headers["Content-Security-Policy"] == web.POLICY
        assert "ETag" not in shown.headers
        head = await client.head(path, headers=HTML)
        assert (head.status_code, head.content) == (404, b"")


@pytest.mark.parametrize("path", ["/helper", "/help.html", "/llms.txt/"])
async def test_similar_paths_outside_the_help_get_the_application(client, path):
    shown = await client.get(path, headers=HTML)
    assert (shown.status_code, shown.content) == (404, SHELL)


@pytest.mark.parametrize(
    "path", ["/", "/assets/app-AB12.js", "/favicon.svg", "/robots.txt", "/help", "/help/use/keys.md", "/llms.txt"]
)
async def test_head_gets_the_headers_without_the_body(client, path):
    whole, head = await client.get(path), await client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    unlike = {"x-request-id"}
    assert {n: v for n, v in head.headers.items() if n not in unlike} == {
        n: v for n, v in whole.headers.items() if n not in unlike
    }


async def test_pages_refuse_other_methods(client):
    for path in ("/", "/sites/site_1", "/assets/app-AB12.js", "/help", "/help/use/keys", "/llms.txt"):
        response = await client.post(path)
        assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")
        assert response.json()["error"]["code"] == "method_not_allowed"


@pytest.mark.rule("G8")
@pytest.mark.parametrize(
    "path", ["/nothing", "/sites//", "/sites/", "/sites/a/b", "/assets/../pages.json", "/v1/nothing"]
)
async def test_unknown_path_gets_a_page_for_browsers_and_an_error_for_programs(client, path):
    shown = await client.get(path, headers={**HTML, "Accept-Encoding": "br"})
    assert (shown.status_code, shown.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert shown.headers["Content-Security-Policy"] == web.POLICY
    assert "ETag" not in shown.headers
    for accept in ("*/*", "application/json", "text/html;q=0"):
        response = await client.get(path, headers={"Accept": accept})
        assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
    assert (await client.post(path, headers=HTML)).json()["error"]["code"] == "not_found"


@pytest.mark.rule("D2")
@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (None, "text/html"),
        ("*/*", "text/html"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"),
        ("text/markdown", "text/markdown"),
        ("text/markdown, text/html;q=0.5", "text/markdown"),
        ("application/json", "text/html"),
    ],
)
async def test_reference_is_a_page_or_markdown_by_accept_header(client, accept, kind):
    assert "/reference" in {endpoint.path for endpoint in ENDPOINTS}
    del client.headers["Accept"]
    response = await client.get("/reference", headers={} if accept is None else {"Accept": accept})
    assert response.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert response.headers["Vary"] == "Accept, Accept-Encoding"
    if kind == "text/html":
        assert response.headers["Content-Security-Policy"] == web.POLICY
        assert response.content == SHELL
        again = await client.get("/reference", headers={"If-None-Match": response.headers["ETag"]})
        assert again.status_code == 304
    else:
        assert response.content == (await client.get("/reference.md")).content


async def test_metrics_count_pages_by_template(tmp_path):
    deps = deps_of(tmp_path, web=load_web(folder=built(tmp_path / "web")))
    async with client_of(create_app(deps)) as client:
        help_paths = ("/help", "/help/use/keys", "/help/use/keys.md", "/llms.txt", "/help/use/nothing")
        for path in ("/", "/sites/site_1", "/assets/app-AB12.js", "/sites/site_2/x", *help_paths):
            response = await client.get(path, headers=HTML)
            assert "Strict-Transport-Security" not in response.headers  # HSTS would break a service that has no HTTPS
    text = deps.context.metrics.text().decode()
    once = (("/", "2xx"), ("/sites/{id}", "2xx"), ("/assets/{file}", "2xx"), ("/llms.txt", "2xx"))
    for route, status, count in (*((*each, 1) for each in once), ("/help/{page}", "2xx", 3), ("other", "4xx", 2)):
        assert f'svc_http_request_seconds_count{{method="GET",route="{route}",status="{status}"}} {count}.0' in text


async def test_api_is_served_without_the_web_application(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot be read .* run: make build"):
        load_web(folder=tmp_path)
    async with client_of(create_app(deps_of(tmp_path))) as client:
        assert (await client.get("/healthz")).json()["ok"] is True
        assert (await client.get("/", headers=HTML)).json()["error"]["code"] == "not_found"
