"""The snippet in a real browser, on a page of the customer's site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.installed import CHROME, SITE_HOST, SITE_PATH, InstalledWorker
from edge_worker.test.test_count import next_hour
from edge_worker.tools.node import node_command

if TYPE_CHECKING:
    from collections.abc import Sequence

BROWSER = Path(__file__).parents[1] / "tools/browser.js"
BROWSER_LIMIT_S = 90
AHEAD = json.dumps({"prerender": [{"source": "list", "urls": ["/two"], "eagerness": "immediate"}]})
# A prerendered page runs this script after its snippet, to record in the browser that the snippet has run.
NOTE = "if (document.prerendering) localStorage.prerendered = 1"
SENT = f"performance.getEntriesByName('http://{SITE_HOST}{SITE_PATH}').length >= "


async def drive(worker: InstalledWorker, steps: Sequence[dict[str, Any]], *, driven: bool = False) -> dict[str, Any]:
    """Run the steps in a browser on the emulated edge, and return the browser's output."""
    order = {
        "host_rules": f"MAP * 127.0.0.1:{worker.emulator.edge.rsplit(':', 1)[1]}",
        "user_agent": CHROME, "driven": driven, "steps": steps,
    }  # fmt: skip
    with trio.fail_after(BROWSER_LIMIT_S):
        run = await trio.run_process(node_command(BROWSER), stdin=json.dumps(order).encode(), capture_stdout=True)
    response: dict[str, Any] = json.loads(run.stdout)
    return response


async def site(
    worker: InstalledWorker, bundle: Path, policy: str = "script-src 'unsafe-inline' 'self'; connect-src 'self'"
) -> None:
    """Add the customer's pages. They contain the inline snippet, except /tag, which uses the script tag. /ahead
    prerenders /two.
    """
    code = (bundle / "snippet.js").read_text().replace("__PATH__", SITE_PATH)
    head = f'<!doctype html><title>shop</title><meta http-equiv="content-security-policy" content="{policy}">'
    page = f'{head}<script>{code}</script><a id="go" href="/two">go</a>'
    for path in ("/", "/two"):
        await worker.emulator.add_page(SITE_HOST, path, f"{page}<script>{NOTE}</script>")
    await worker.emulator.add_page(SITE_HOST, "/ahead", f'{page}<script type="speculationrules">{AHEAD}</script>')
    await worker.emulator.add_page(SITE_HOST, "/favicon.ico", "")  # a browser with a window requests it
    await worker.emulator.add_page(SITE_HOST, "/tag", f'{head}<script src="{SITE_PATH}/k3f.js" defer></script>')


async def counted(worker: InstalledWorker) -> dict[str, Any]:
    """Return the day's totals, including the visitors so far."""
    await worker.emulator.settled()
    now = await worker.clock(0)
    await worker.cron(next_hour(now))
    rows = await worker.sql("select totals from day")
    visitors = await worker.sql(
        "select count(distinct list.value) as visitors from hour, json_each(hour.visitors) list"
    )
    return {**(json.loads(rows[0]["totals"]) if rows else {}), **visitors[0]}


@pytest.mark.rule("S2")
@pytest.mark.rule("W2")
async def test_each_visible_page_is_one_view(worker: InstalledWorker, bundle: Path) -> None:
    await site(worker, bundle)
    response = await drive(
        worker,
        [
            {"goto": f"http://{SITE_HOST}/?utm_source=News&token=secret&utm_campaign=Spring%20Sale"},
            {"push_state": "/a"},
            {"push_state": "/a?only=query"},
            {"replace_state": "/b"},
            {"evaluate": "new Promise(r => { addEventListener('popstate', () => r(1)); history.back() })"},
            {"evaluate": "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"},
            {"click": "#go"},
            {"goto": f"http://{SITE_HOST}/tag"},
            {"idle": True},
            {"evaluate": "[document.cookie, localStorage.length, sessionStorage.length].join()"},
        ],
    )
    assert response["steps"][-1] == ",0,0"
    assert response["console"] == []
    totals = await counted(worker)
    assert totals["pages"] == {"/": 1, "/a": 3, "/b": 1, "/two": 1, "/tag": 1}
    assert totals["sources"] == {"news": 1, "(internal)": 5, "": 1}
    assert totals["campaigns"] == {"spring sale": 1}
    assert totals["entries"] == {"/": 1, "/tag": 1}
    assert totals["arrivals"] == {"news /": 1, " /tag": 1}
    assert (totals["views"], totals["bots"], totals["visitors"]) == (7, {}, 1)
    assert totals["browsers"] == {"Chrome": 7}


@pytest.mark.rule("S2")
async def test_prerendered_page_that_is_never_shown_is_not_a_view(worker: InstalledWorker, bundle: Path) -> None:
    await site(worker, bundle)
    await drive(worker, [{"goto": f"http://{SITE_HOST}/ahead"}, {"until": "localStorage.prerendered"}, {"idle": True}])
    assert (await counted(worker))["pages"] == {"/ahead": 1}


@pytest.mark.rule("S2")
async def test_prerendered_page_is_one_view_when_it_is_shown(worker: InstalledWorker, bundle: Path) -> None:
    await site(worker, bundle)
    response = await drive(
        worker,
        [
            {"goto": f"http://{SITE_HOST}/ahead"},
            {"until": "localStorage.prerendered"},
            {"click": "#go"},
            {"idle": True},
            {"evaluate": "performance.getEntriesByType('navigation')[0].activationStart > 0"},
        ],
    )
    assert response["steps"][-1] is True, "the click loaded the page again"
    assert (await counted(worker))["pages"] == {"/ahead": 1, "/two": 1}


@pytest.mark.rule("S2")
async def test_going_back_is_one_view_with_or_without_the_back_forward_cache(
    worker: InstalledWorker, bundle: Path
) -> None:
    await site(worker, bundle)
    response = await drive(
        worker,
        [
            {"goto": f"http://{SITE_HOST}/"},
            {"evaluate": "void addEventListener('pageshow', (event) => { self.kept = event.persisted })"},
            {"goto": f"http://{SITE_HOST}/two"},
            {"back": True},
            {"evaluate": "self.kept === true"},
            {"idle": True},
        ],
    )
    # A headless browser without a window reloads the page. Others restore it from the back/forward cache.
    kept = response["steps"][4]
    totals = await counted(worker)
    assert totals["pages"] == {"/": 2, "/two": 1}
    assert totals["sources"] == ({"": 2, "(internal)": 1} if kept else {"": 3})


@pytest.mark.rule("S2")
async def test_page_with_several_snippets_counts_once(worker: InstalledWorker, bundle: Path) -> None:
    await site(worker, bundle)
    code = (bundle / "snippet.js").read_text().replace("__PATH__", SITE_PATH)
    tag = f'<script src="{SITE_PATH}/k3f.js" defer></script>'
    page = f"<!doctype html><title>shop</title><script>{code}</script>{tag}<script>{code}</script>"
    await worker.emulator.add_page(SITE_HOST, "/twice", page)
    await drive(
        worker,
        [
            {"goto": f"http://{SITE_HOST}/twice"},
            {"push_state": "/a"},
            {"evaluate": "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"},
            {"idle": True},
        ],
    )
    assert (await counted(worker))["pages"] == {"/twice": 1, "/a": 2}


async def test_page_with_a_form_named_like_a_property_counts(worker: InstalledWorker, bundle: Path) -> None:
    code = (bundle / "snippet.js").read_text().replace("__PATH__", SITE_PATH)
    form = '<form name="prerendering"></form>'
    await worker.emulator.add_page(SITE_HOST, "/", f"<!doctype html><title>shop</title>{form}<script>{code}</script>")
    await drive(worker, [{"goto": f"http://{SITE_HOST}/"}, {"push_state": "/a"}, {"idle": True}])
    assert (await counted(worker))["pages"] == {"/": 1, "/a": 1}


async def test_every_page_counts_without_the_navigation_api(worker: InstalledWorker, bundle: Path) -> None:
    await site(worker, bundle)
    await drive(
        worker,
        [
            {"before_load": "Object.defineProperty(window, 'navigation', {value: undefined})"},
            {"goto": f"http://{SITE_HOST}/two"},
            {"push_state": "/a"},
            {"until": f"{SENT}2"},
            {"replace_state": "/b"},
            {"until": f"{SENT}3"},
        ],
    )
    assert (await counted(worker))["pages"] == {"/two": 1, "/a": 1, "/b": 1}


async def test_browser_without_beacons_gets_no_error(worker: InstalledWorker, bundle: Path) -> None:
    await site(worker, bundle)
    response = await drive(
        worker,
        [{"before_load": "navigator.sendBeacon = undefined"}, {"goto": f"http://{SITE_HOST}/two"}, {"idle": True}],
    )
    assert response["console"] == []


async def test_browser_driven_by_a_program_is_a_bot(worker: InstalledWorker, bundle: Path) -> None:
    await site(worker, bundle)
    await drive(worker, [{"goto": f"http://{SITE_HOST}/two"}, {"idle": True}], driven=True)
    totals = await counted(worker)
    assert (totals["views"], totals["bots"]) == (0, {"webdriver": 1})
