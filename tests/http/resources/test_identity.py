"""Tests of the public settings and of security.txt."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from svc.config import WebConfig
from svc.http.serving.app import create_app
from svc.http.serving.web import load_web
from svc.identity.operator import load_identity
from tests.http.conftest import config_of, open_world
from tests.http.serving.test_refusals import is_error
from tests.http.serving.test_web import built, client_of, deps_of

LEGAL = {
    "contact": "help#desk@acme.example",
    "imprint_url": "https://acme.example/imprint",
    "privacy_url": "https://acme.example/privacy?a=1&b=2",
    "terms_url": "https://acme.example/terms",
}
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0 0h9"/></svg>'


@pytest.fixture
async def acme(store, clock, tmp_path):
    """A service whose operator has configured all public settings."""
    (tmp_path / "logo").write_text(SVG)
    web = WebConfig(name="<b>ACME</b> & Söhne", logo=str(tmp_path / "logo"), **LEGAL)
    async with open_world(store, clock, tmp_path, config_of(tmp_path).model_copy(update={"web": web})) as world:
        yield world


async def test_settings_contain_only_what_is_set(world, acme):
    found = await world.call("GET", "/auth/settings")
    assert found.body == {"sign_up": "open", "name": "svc"}
    assert found.headers["Cache-Control"] == "public, max-age=300"
    found = await acme.call("GET", "/auth/settings")
    logo_url = found.body.pop("logo_url")
    assert re.fullmatch(r"https://svc\.example/assets/logo-[0-9a-f]{12}\.svg", logo_url)
    assert found.body == {"sign_up": "open", "name": "<b>ACME</b> & Söhne", **LEGAL}
    assert found.headers["Content-Type"] == "application/json"
    assert found.headers["X-Content-Type-Options"] == "nosniff"


async def test_security_txt_names_the_contact(world, acme, clock):
    is_error(await world.call("GET", "/.well-known/security.txt"), 404, "not_found")
    found = await acme.call("GET", "/.well-known/security.txt")
    assert found.headers["Content-Type"] == "text/plain; charset=utf-8"
    lines = dict(line.split(": ", 1) for line in found.raw.decode().splitlines())
    expires = datetime.fromisoformat(lines.pop("Expires"))
    now = datetime.fromtimestamp(clock() / 1000, UTC)
    assert timedelta(days=179) < expires - now < timedelta(days=365)
    assert lines == {
        "Contact": "mailto:help%23desk@acme.example",
        "Canonical": "https://svc.example/.well-known/security.txt",
        "Preferred-Languages": "en, de",
    }


async def test_host_header_does_not_change_urls(acme):
    for path in ("/auth/settings", "/.well-known/security.txt"):
        found = await acme.call("GET", path, headers={"Host": "evil.example", "X-Forwarded-Host": "evil.example"})
        assert b"evil.example" not in found.raw
        assert b"https://svc.example" in found.raw


async def test_logo_may_only_draw_itself(tmp_path):
    # the wrong extension does not matter, because only the content determines the type of the logo
    (tmp_path / "logo.png").write_text(SVG)
    identity = load_identity(WebConfig(logo=str(tmp_path / "logo.png")))
    web = load_web("https://svc.example", built(tmp_path / "web"), identity=identity)
    app = create_app(deps_of(tmp_path, web=web, identity=identity))
    async with client_of(app) as client:
        settings = (await client.get("/auth/settings")).json()
        found = await client.get(settings["logo_url"])
    assert (found.status_code, found.text) == (200, SVG)
    assert found.headers["Content-Type"] == "image/svg+xml"
    assert found.headers["X-Content-Type-Options"] == "nosniff"
    policy = found.headers["Content-Security-Policy"]
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; sandbox"
    assert found.headers["Cache-Control"] == "public, max-age=31536000, immutable"


async def test_links_in_emails_ignore_the_host_of_the_request(acme):
    headers = {"Host": "evil.example", "X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    body = {"email": "ann@acme.example", "password": "correct horse battery staple"}
    assert (await acme.call("POST", "/auth/sign-up", body, headers=headers)).status == 202
    await acme.outbox.settled()
    [file] = acme.mail_folder.glob("*.eml")
    text = file.read_text()
    assert "evil.example" not in text
    assert "https://svc.example/confirm?token=" in text
