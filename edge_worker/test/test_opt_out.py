"""The page on which visitors turn counting off for their browser."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.harness.installed import CHROME, SITE_HOST, SITE_PATH, VOCABULARY, InstalledWorker
from edge_worker.test.test_config import rows_written
from edge_worker.test.test_snippet import drive

if TYPE_CHECKING:
    from pathlib import Path

    from edge_worker.emulator.client import Visit

# Headers that can differ between two responses for reasons other than the opt-out. These headers are not compared.
VOLATILE = ("connection", "content-length", "date", "transfer-encoding")
COOKIE = "__Secure-uncounted=1"
SITE: dict[str, Any] = {"target": "site_b", "script": "k3f", "visitor_opt_out": True}
# The route of the installed site covers this path.
PATH, RETIRED_PATH = f"{SITE_PATH}b", f"{SITE_PATH}old"
# Browsers accept cookies with the attribute Secure over plain HTTP only from this kind of host.
LOCAL_HOST, OTHER_HOST = "shop.localhost", "evil.localhost"
OTHER_PATH = "/ab3/x9k2"


async def ask(worker: InstalledWorker, method: str = "GET", path: str = f"{PATH}/off", **headers: str) -> Visit:
    """Send a request to the opt-out page. Underscores in header names become hyphens."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return await worker.emulator.visit(SITE_HOST, path, method=method, headers={"user-agent": CHROME, **sent})


async def view(worker: InstalledWorker, page: str, path: str = PATH, **headers: str) -> tuple[Any, ...]:
    """Send a beacon, and return the response without the headers in VOLATILE."""
    visit = await worker.emulator.visit(
        SITE_HOST, path, method="POST", headers={"user-agent": CHROME, **headers}, body=f"{page}\n"
    )
    return visit.status, visit.body, {name: value for name, value in visit.headers.items() if name not in VOLATILE}


async def pages(worker: InstalledWorker) -> list[str]:
    """Return the pages of all stored events."""
    await worker.emulator.settled()
    lines = [line for row in await worker.sql("select lines from event_log") for line in row["lines"].splitlines()]
    return sorted(json.loads(line)[4] for line in lines)


@pytest.mark.rule("Y9")
async def test_view_with_the_cookie_is_answered_like_any_other_and_writes_nothing(worker: InstalledWorker) -> None:
    retired = {**SITE, "until": await worker.clock(0) + 3_600_000}
    await worker.configure({f"path:{SITE_HOST}{PATH}": SITE, f"path:{SITE_HOST}{RETIRED_PATH}": retired})
    await ask(worker)
    await worker.emulator.settled()
    written = await rows_written(worker)
    responses = [await view(worker, "/off", cookie=COOKIE)]
    responses.append(await view(worker, "not a beacon", cookie=f"a=b; {COOKIE}"))
    responses.append(await view(worker, "/off", cookie="; ".join(["session=" + "x" * 20] * 2_000 + [COOKIE])))
    responses.append(await view(worker, "/off", RETIRED_PATH, cookie=COOKIE))
    await worker.emulator.visit(
        SITE_HOST, PATH, method="POST", headers={"user-agent": "curl/8.5.0", "cookie": COOKIE}, body="/bot\n"
    )
    assert await pages(worker) == []
    assert await rows_written(worker) == written
    for table in ("event_log", "salt"):
        assert await worker.sql(f"select * from {table}") == []

    odd = ("__Secure-uncounted=0", "__Secure-uncounted=", "x__Secure-uncounted=1", "__Secure-uncounted", ";;=;")
    responses += [await view(worker, "/odd", cookie=cookie) for cookie in odd]
    responses.append(await view(worker, "/on"))
    # the other site does not offer the opt-out page
    responses.append(await view(worker, "/other", SITE_PATH, cookie=COOKIE))
    assert await pages(worker) == sorted(["/odd"] * len(odd) + ["/on", "/other"])
    assert responses == [responses[0]] * len(responses), "the response shows whether the view was counted"
    assert responses[0][0] == 204


@pytest.mark.rule("Y9")
async def test_page_shows_and_changes_the_choice_without_writing_a_row(worker: InstalledWorker) -> None:
    await worker.configure({f"path:{SITE_HOST}{PATH}": SITE})
    await ask(worker)
    await worker.emulator.settled()
    written = await rows_written(worker)
    for cookie, action in (("", "?off"), (COOKIE, "?on"), ("__Secure-uncounted=0", "?off")):
        page = await ask(worker, accept_language="sv,de-CH;q=0.9,en;q=0.8", cookie=cookie)
        assert (page.status, page.headers["content-language"]) == (200, "de")
        assert '<html lang="de">' in page.body
        assert f'<form method="post" action="{action}">' in page.body
        assert len(page.body.encode()) < 2_000
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["content-security-policy"] == VOCABULARY["opt_out_policy"]
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "same-origin"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["x-robots-tag"] == "noindex"
        assert "set-cookie" not in page.headers
        head = await ask(worker, "HEAD", accept_language="de", cookie=cookie)
        same = {name: value for name, value in page.headers.items() if name not in VOLATILE}
        assert (head.status, head.body) == (200, "")
        assert {name: head.headers.get(name) for name in same} == same

    origin = f"http://{SITE_HOST}"
    for query, value, age in (("?off", "1", 34_560_000), ("?on", "", 0)):
        response = await ask(worker, "POST", f"{PATH}/off{query}", origin=origin, sec_fetch_site="same-origin")
        assert (response.status, response.body, response.headers["location"]) == (303, "", f"{PATH}/off")
        expected = f"__Secure-uncounted={value}; Path={PATH}; HttpOnly; Secure; SameSite=Lax; Max-Age={age}"
        assert response.headers["set-cookie"] == expected
        assert response.headers["cache-control"] == "no-store"
    for headers in (
        {},
        {"origin": "null"},
        {"origin": "https://evil.example", "content_type": "text/plain"},
        {"origin": f"http://www.{SITE_HOST}", "sec_fetch_site": "same-site"},
        {"origin": origin, "sec_fetch_site": "cross-site"},
    ):
        response = await ask(worker, "POST", f"{PATH}/off?off", **headers)
        assert (response.status, response.body, response.headers.get("set-cookie")) == (403, "", None), headers
    for query in ("", "?off=1", "?OFF"):
        response = await ask(worker, "POST", f"{PATH}/off{query}", origin=origin)
        assert (response.status, response.headers.get("set-cookie")) == (400, None), query
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        response = await ask(worker, method, f"{PATH}/off?off", origin=origin)
        assert (response.status, response.headers["allow"]) == (405, "GET, HEAD, POST"), method
        assert not {"set-cookie", "access-control-allow-origin"} & response.headers.keys()
    await worker.emulator.settled()
    assert await rows_written(worker) == written
    assert await worker.sql("select * from event_log") == []


@pytest.mark.rule("Y9")
async def test_page_exists_only_while_the_site_offers_it(worker: InstalledWorker) -> None:
    path = f"path:{SITE_HOST}{SITE_PATH}"
    without = {"target": "site_a", "script": "k3f"}
    rows = [without, {**without, "visitor_opt_out": True}, {**without, "visitor_opt_out": False}]
    for number, row in enumerate(rows):
        await worker.configure({path: row})
        await worker.clock(61 * (number + 1))
        for method in ("GET", "HEAD", "POST", "OPTIONS"):
            response = await ask(worker, method, f"{SITE_PATH}/off?off", origin=f"http://{SITE_HOST}")
            if number != 1:
                assert (response.status, response.body) == (404, ""), method
                assert not {"set-cookie", "allow", "content-type"} & response.headers.keys()
            else:
                assert response.status == {"POST": 303, "OPTIONS": 405}.get(method, 200)
        for wrong in ("off/", "offx", "off.js", "OFF", "off/off"):
            assert (await ask(worker, path=f"{SITE_PATH}/{wrong}")).status == 404, wrong
        await view(worker, f"/{number}", SITE_PATH, cookie=COOKIE)
    assert await pages(worker) == ["/0", "/2"]


async def test_page_of_a_new_site_is_shown_by_an_isolate_that_does_not_know_the_site(worker: InstalledWorker) -> None:
    path = "/abcd/efgh"
    await worker.route(f"{SITE_HOST}{path}*", "svc-edge")
    assert (await ask(worker, path=f"{path}/off")).status == 404  # the response of the origin server
    await worker.configure({f"path:{SITE_HOST}{path}": SITE})
    assert (await ask(worker, path=f"{path}/off")).status == 200
    await worker.configure({f"path:{SITE_HOST}/ijklmnop": SITE})
    await worker.route(f"{SITE_HOST}/ijklmnop*", "svc-edge")
    assert (await ask(worker, path="/ijklmnop/off")).status == 200


@pytest.mark.rule("Y9")
async def test_browser_sends_the_cookie_with_the_beacons_of_this_site_only(
    worker: InstalledWorker, bundle: Path
) -> None:
    """Run a real browser with the real snippet, on a host from which it accepts the cookie without TLS."""
    await configure_local_hosts(worker, bundle)
    page = f"http://{LOCAL_HOST}{SITE_PATH}/off"
    run = await drive(
        worker,
        [
            {"goto": f"http://{LOCAL_HOST}/before"},
            {"goto": page},
            {"evaluate": "document.querySelector('form').getAttribute('action')"},
            {"click": "button"},
            {"evaluate": "[location.pathname, document.querySelector('form').getAttribute('action'), document.cookie]"},
            {"goto": f"http://{LOCAL_HOST}/off"},
            {"push_state": "/off/2"},
            {"goto": f"http://{LOCAL_HOST}/other-snippet"},
            {"goto": page},
            {"click": "button"},
            {"evaluate": "document.querySelector('form').getAttribute('action')"},
            {"goto": f"http://{LOCAL_HOST}/after"},
            {"idle": True},
        ],
    )
    shown = [step for step in run["steps"] if step is not None]
    assert shown == ["?off", [f"{SITE_PATH}/off", "?on", ""], "?off"]
    assert run["console"] == []
    beacons = [request for request in run["requests"] if request == f"POST http://{LOCAL_HOST}{SITE_PATH}"]
    assert len(beacons) == 4, "the snippet did not send the views that are not counted"
    assert await pages(worker) == ["/after", "/before", "/other-snippet"]


@pytest.mark.rule("Y9")
async def test_no_other_site_can_set_the_cookie_or_show_the_page_in_a_frame(
    worker: InstalledWorker, bundle: Path
) -> None:
    await configure_local_hosts(worker, bundle)
    action = f"http://{LOCAL_HOST}{SITE_PATH}/off?off"
    forms = "".join(
        f'<form method="post" action="{action}" enctype="{enctype}"><input name="a" value="b"><button id="{name}">'
        "</button></form>"
        for name, enctype in (("plain", "text/plain"), ("url", "application/x-www-form-urlencoded"))
    )
    submit = f"<form method=post action={action}></form><script>document.forms[0].submit()</script>"
    sandbox = f'<iframe sandbox="allow-forms allow-scripts" srcdoc="{submit}"></iframe>'
    await worker.emulator.add_page(OTHER_HOST, "/forms", forms)
    await worker.emulator.add_page(OTHER_HOST, "/frame", f'<iframe src="{action}"></iframe>{sandbox}')
    steps: list[dict[str, Any]] = []
    for name in ("plain", "url"):
        steps += [{"goto": f"http://{OTHER_HOST}/forms"}, {"click": f"#{name}"}]
    steps.append({"goto": f"http://{OTHER_HOST}/forms"})
    for options in ("{method: 'POST', mode: 'no-cors'}", "{method: 'POST'}", "{method: 'PUT'}"):
        fetch = f"fetch('{action}', {{credentials: 'include', ...{options}}})"
        steps.append({"evaluate": f"{fetch}.then((response) => response.type, () => 'rejected')"})
    for page in (f"{OTHER_HOST}/frame", f"{LOCAL_HOST}/counted"):
        steps += [{"goto": f"http://{page}"}, {"idle": True}]
    run = await drive(worker, steps)
    assert [step for step in run["steps"] if step is not None] == ["opaque", "rejected", "rejected"]
    assert run["requests"].count(f"POST {action}") == 5
    assert any("frame-ancestors 'none'" in line for line in run["console"]), run["console"]
    assert await pages(worker) == ["/counted"]


async def configure_local_hosts(worker: InstalledWorker, bundle: Path) -> None:
    """Add a host with a site that has the opt-out page, and with a page whose snippet uses a different path. Also add a
    host that belongs to another owner.
    """
    zone_id = ""
    for host in (OTHER_HOST, LOCAL_HOST):
        zone_id = await worker.emulator.set_zone(worker.customer.account_id, host, dns=[{"name": "@", "proxied": True}])
        await worker.emulator.add_page(host, "/favicon.ico", "")
    for path in (SITE_PATH, OTHER_PATH):
        await worker.route(f"{LOCAL_HOST}{path}*", "svc-edge", zone_id)
    await worker.configure({f"path:{LOCAL_HOST}{path}": SITE for path in (SITE_PATH, OTHER_PATH)})
    snippet = (bundle / "snippet.js").read_text()
    for page in ("/before", "/off", "/after", "/counted", "/other-snippet"):
        code = snippet.replace("__PATH__", OTHER_PATH if page == "/other-snippet" else SITE_PATH)
        await worker.emulator.add_page(LOCAL_HOST, page, f"<!doctype html><script>{code}</script>")
