"""Import links from another product while a service is running. Explain clicks on them, then make these clicks."""

from __future__ import annotations

import subprocess
from collections import Counter

import pytest
import trio

from edge_worker.harness.service import environment, eventually, open_service
from edge_worker.programs import run_program
from tests.journeys.conftest import ZONE, connect, settings_of

HOST = f"go.{ZONE}"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Mobile/15E1 Safari/604.1"
TABLET = (
    "Mozilla/5.0 (Linux; Android 14; SM-X210) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36"
)
DESK = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
AGENTS = [
    PHONE,
    TABLET,
    DESK,
    f"{PHONE} {'x ' * 300}bot",
    "curl/8.5.0",
    "facebookexternalhit/1.1",
    "HeadlessChrome/120",
]
QUERIES = [
    *("", "q", "q=1", "xq&ref=", "utm_source=Spring%20Sale", "ref=https%3A%2F%2Fwww.a.example%2Fx", "ref=%zz"),
    *("a=1&utm_source=%C3%84b&q2", "utm_source=a@b.example", "ref=%C3%84%20b%27%22|", "utm_source=new+letter"),
]
RULES = [
    {"url": "https://a.example/de-mobile", "countries": ["DE", "AT"], "devices": ["mobile"]},
    {"url": "https://a.example/us", "countries": ["US"], "devices": ["desktop"]},
    {"url": "https://a.example/scan", "query": {"name": "q", "value": "1"}},
    {"url": "https://a.example/mobile", "devices": ["mobile"]},
    {"url": "https://a.example/fr", "languages": ["fr"], "os": ["Linux", "Windows"]},
    {"url": "https://a.example/pt", "languages": ["pt-br", "pt"]},
    {"url": "https://a.example/a", "query": {"name": "utm_source", "value": "Äb"}},
]
LANGUAGES = ["fr-CA,en;q=0.8", "en,fr;q=0.2", "pt-BR", "fr;q=0.1,PT-pt;q=0.2", "fr;q=0,*", "*,pt;q=0.5"]


async def svc(folder, settings, *arguments) -> subprocess.CompletedProcess[str]:
    """Run a command on the service's store while the service is running."""
    with trio.fail_after(60):
        ended = await run_program(["-m", "svc", *arguments], environ=environment(folder, settings))
    return subprocess.CompletedProcess(ended.args, ended.returncode, ended.stdout.decode(), ended.stderr.decode())


@pytest.mark.rule("X2")
async def test_imported_links_are_synced_without_a_restart(emulator, customer, store_config, tmp_path):
    settings = settings_of(emulator, store_config, SVC_TIMING_COMMANDS_EVERY_S="0.5")
    async with open_service(tmp_path / "svc", settings) as service:
        await service.sign_up("a@example.com", "a long password")
        await connect(service, customer)
        export = tmp_path / "yourls.csv"
        rows = "".join(f"code-{n},https://a.example/{n},T\n" for n in range(1_200))
        export.write_text(f"keyword,url,title\n{rows}a/b,https://a.example/,T\n")
        command = ("import", "links", str(export), "--user", "a@example.com")

        tried = await svc(tmp_path / "svc", settings, *command)
        assert (tried.returncode, tried.stderr) == (1, "")
        assert "codes from column `keyword`, destinations from `url`" in tried.stdout
        assert "line 1202: a/b: code " in tried.stdout
        assert "1200 links to import, 0 already imported, 1 invalid" in tried.stdout
        assert (await service.call("GET", "/v1/links"))["links"] == []

        for made, there in ((1_200, 0), (0, 1_200)):
            done = await svc(tmp_path / "svc", settings, *command, "--apply")
            assert f"{made} links imported, {there} already imported, 1 invalid" in done.stdout, done

        async def clicked():
            visit = await emulator.visit(HOST, "/code-1199", headers={"User-Agent": DESK})
            return visit if visit.status == 302 else None

        visit = await eventually(clicked)
        assert visit.headers["location"] == "https://a.example/1199"
        wrong = await svc(tmp_path / "svc", settings, "import", "links", str(tmp_path / "none.csv"), "--user", "x")
        assert wrong.returncode == 1
        assert "none.csv" in wrong.stderr
        assert "Traceback" not in wrong.stderr


@pytest.mark.rule("X1")
async def test_click_matches_its_explanation(emulator, customer, service):
    account_id = await connect(service, customer)
    body = {"account_id": account_id, "links": [{"url": "https://a.example/", "code": "abc", "rules": RULES}]}
    [result] = (await service.call("POST", "/v1/links/bulk", body))["results"]
    path = f"/v1/links/{result['link']['id']}"
    await service.synced(path)
    expected: dict[str, Counter[str]] = {name: Counter() for name in ("sources", "devices", "browsers", "os", "bots")}
    clicks = [(agent, query, "US", "GET", "") for agent in AGENTS for query in QUERIES]
    clicks += [(agent, "", country, "GET", "") for agent in AGENTS for country in ("DE", "AT", "T1", "XX")]
    clicks += [(agent, "q", "DE", "HEAD", "") for agent in AGENTS]
    clicks += [(DESK, query, "DE", "GET", language) for language in LANGUAGES for query in ("", QUERIES[-4])]
    matched = set()
    for agent, query, country, method, language in clicks:
        asked = {
            "user_agent": agent, "query": query, "country": country, "method": method, "accept_language": language
        }  # fmt: skip
        explained = await service.call("POST", f"{path}/explain", asked)
        place = f"/abc?{query}" if query else "/abc"
        headers = {"User-Agent": agent, "Accept-Language": language}
        visit = await emulator.visit(HOST, place, method=method, headers=headers, cf={"country": country})
        assert (visit.status, visit.headers["location"]) == (302, explained["url"]), asked
        rule = explained["rule"]
        assert explained["url"] == ("https://a.example/" if rule is None else RULES[rule]["url"])
        matched.add(rule)
        counted = explained["counted_as"]
        if counted["kind"] == "bot":
            expected["bots"][counted["reason"]] += 1
        else:
            for name, field in (("sources", "source"), ("devices", "device"), ("browsers", "browser"), ("os", "os")):
                expected[name][counted[field]] += 1
    assert matched == {None, *range(len(RULES))}
    await emulator.settled()
    report = (await service.call("GET", f"{path}/report?period=7d&breakdowns=1"))["report"]
    assert report["totals"]["views"] + report["totals"]["bots"] == len(clicks)
    for name, counts in expected.items():
        assert {entry["key"]: entry["n"] for entry in report["breakdowns"][name]} == dict(counts), name
