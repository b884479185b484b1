"""`make demo`: run the whole product on this host, from sign-up to reports.

Only Cloudflare is emulated. The service runs as in production, the Worker runs in the real runtime, and a real browser
opens a page with the snippet. Every number in the reports is checked against an independent count of the visits that
were sent.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
import time
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import trio

from edge_worker.demo_history import day_number, day_of, import_file, invented_days, month_start
from edge_worker.demo_links import DemoLink, demo_links
from edge_worker.demo_playground import SECOND_HOST, Address, Playground, offer_account, open_address
from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import open_emulator
from edge_worker.harness.service import Service, eventually, open_service
from edge_worker.harness.visitors import DESKTOP_CHROME, Hit, Tally, clicks, views
from edge_worker.tools.node import node_command

if TYPE_CHECKING:
    import httpx

    from edge_worker.emulator.client import Emulator

SITE_HOST = "shop.example"
LINK_HOST = "go.shop.example"
BROWSER = Path(__file__).parent / "tools/browser.js"
PERIODS = ("today", "7d", "30d", "12mo")
# Query parameters for the report over twelve months.
MONTHS = "&by=month&compare=year"
BREAKDOWNS = ("pages", "sources", "countries", "devices", "browsers", "os", "targets", "outside", "bots")
_HOUR_S = 3_600
_HOUR_MS = 3_600_000
_DAY_S = 86_400
# When the demo sends visits, as tuples: seconds before now, number of views, number of clicks. The visits cover 30
# days, and one day of each week has fewer views. For earlier days, the demo imports totals.
VISITS = (
    *((day * _DAY_S, 8 if day % 7 == 3 else 20 + day % 5 * 4, 4 + day % 3 * 2) for day in range(29, 0, -1)),
    (_HOUR_S, 90, 25),
)
EMAIL = "you@example.com"


def step(text: str) -> None:
    """Print one line of progress."""
    print(f"  • {text}", flush=True)


async def main(once: bool) -> int:
    """Run the demo and return 0 if every number is correct. Without `once`, keep running until Ctrl-C."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="svc-demo-") as folder:
        async with open_address() as address, open_emulator(local_egress=True) as emulator:
            step(f"Edge platform emulated on this machine: API {emulator.api}, edge {emulator.edge}")
            settings = {
                "SVC_EDGE_API_BASE_URL": emulator.api,
                "SVC_EDGE_EMULATED_EDGE": emulator.edge,
                "SVC_WEB_DEMONSTRATION": await offer_account(emulator, address),
            }
            async with open_service(Path(folder) / "svc", settings) as service:
                step(f"Service started: {service.url}")
                journey = Journey(emulator, service)
                wrong = await journey.run()
                took = time.monotonic() - began
                if wrong:
                    print("\n".join(["", "These numbers differ from the visits sent:", *wrong]), flush=True)
                else:
                    print(f"\n  Every number matches the visits sent. ({took:.0f} s)", flush=True)
                if not once:
                    await stay(emulator, service, address, journey.password)
    return 1 if wrong else 0


async def stay(emulator: Emulator, service: Service, address: Address, password: str) -> None:
    """Keep everything running until Ctrl-C, and print what the user can try."""
    playground = Playground(emulator, service, address, EMAIL, password)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(playground.serve)
        nursery.start_soon(playground.run_crons)
        print("\n  The service runs until you press Ctrl-C.", flush=True)
        print(f"  Open this address to sign in and see the reports:\n\n    {address.sign_in_url}\n", flush=True)
        print(f"  Or sign in at {service.url}/sign-in:\n", flush=True)
        print(f"    email     {EMAIL}\n    password  {password}\n    emails    {service.folder / 'mail'}\n", flush=True)
        print(
            "  Try it with a second account: open Accounts → Connect an account, and fill in the offered id and token."
        )
        print(f"  Then add the site {SECOND_HOST}. Open this address to send one view of the site:\n", flush=True)
        print(f"    {address.visit_url}\n", flush=True)
        print("  Or use the API:\n", flush=True)
        print(f"    curl -H '{_header(service)}' {service.url}/v1/sites\n", flush=True)


def _header(service: Service) -> str:
    return f"Authorization: {service.headers['Authorization']}"


class Journey:
    """Runs the steps of the demo, from sign-up to checking the reports."""

    def __init__(self, emulator: Emulator, service: Service) -> None:
        self.emulator = emulator
        self.service = service
        self.now_ms = time.time_ns() // 1_000_000
        self.site_tally = Tally()
        self.demo_links = demo_links(self.now_ms)
        self.links: list[dict[str, Any]] = []
        self.password = secrets.token_urlsafe(12)

    async def run(self) -> list[str]:
        """Run all steps in order.

        Return a message for each number in a report that differs from the visits that were sent.
        """
        # Set the platform's clock back by weeks, so that the reports also contain earlier weeks.
        await self._go_to(VISITS[0][0] + _HOUR_S)
        await self.connect()
        await self.add_site_and_links()
        await self.import_history()
        step(f"Simulating {len(VISITS)} days of visits and pushes…")
        sent = 0
        for number, (ago_s, view_count, click_count) in enumerate(VISITS):
            await self._go_to(ago_s)
            last = number == len(VISITS) - 1
            sent += await self.send_views(views(view_count, seed=number), ago_s)
            hits = clicks(click_count, seed=100 + number)
            for link in self.demo_links:
                sent += await self.send_clicks(link, hits[:: link.every], ago_s)
            if last:
                step(f"{sent} visits served")
                await self.browse(ago_s)
            await self.emulator.settled()
            await self._run_crons(ago_s)
        await self._go_to(0)
        await self._run_crons(0)
        step("Hourly push received")
        return await self.check_reports()

    async def connect(self) -> None:
        """Sign up, create an API key, connect the account, and wait for the installation."""
        zones = [proxied_zone(SITE_HOST)]
        self.platform_account = await self.emulator.create_account(zones=zones)
        await self.service.sign_up(EMAIL, self.password)
        step("Signed up, confirmed the email address, signed in")
        key = await self.service.call(
            "POST", "/v1/keys", {"scopes": ["accounts", "sites", "links", "reports"]}, key="demo-key"
        )
        self.service.headers = {"Authorization": f"Bearer {key['key']}"}
        step(f"API key created ({key['prefix']}…); the remaining steps use it")
        body = {
            "edge_account_id": self.platform_account.account_id,
            "bootstrap_token": self.platform_account.bootstrap_token,
        }
        response = await self.service.call("POST", "/v1/accounts", body, expect=202, key="demo-connect")
        self.account_id = response["account"]["id"]
        step("Connected with a bootstrap token, which has been deleted")
        account = await self.service.account_in(self.account_id, "ready", "connected")
        if account["state"] != "ready":
            raise AssertionError(f"the installation failed: {account['error']}")
        step(f"Worker installed: bundle {account['edge']['bundle'][:12]}…")
        await self._run_crons(VISITS[0][0] + _HOUR_S)

        async def confirmed() -> bool | None:
            account = (await self.service.call("GET", f"/v1/accounts/{self.account_id}"))["account"]
            return True if account["operation"]["state"] == "done" else None

        await eventually(confirmed)
        step("First push received from the Worker")

    async def add_site_and_links(self) -> None:
        """Create a link host, a site, and links with rules, a split and a period."""
        call = self.service.call
        await call("PUT", f"/v1/accounts/{self.account_id}/link-host", {"host": LINK_HOST}, expect=202, key="demo-host")
        body: dict[str, Any] = {"account_id": self.account_id, "host": SITE_HOST, "excluded_paths": ["/admin"]}
        self.site = (await call("POST", "/v1/sites", body, expect=202, key="demo-site"))["site"]
        for link in self.demo_links:
            body = {"account_id": self.account_id, **link.fields}
            response = await call("POST", "/v1/links", body, expect=201, key=f"demo-{link.code}")
            self.links.append(response["link"])
        await self.service.synced(f"/v1/sites/{self.site['id']}", *(f"/v1/links/{link['id']}" for link in self.links))
        created = ", ".join(link["short_url"] for link in self.links)
        step(f"Site {SITE_HOST} and links {created} created and synced to the Worker")
        qr = await self.service.client.get(
            f"{self.service.url}/v1/links/{self.links[0]['id']}/qr.svg", headers=self.service.headers
        )
        if not qr.is_success or not qr.text.startswith("<svg"):
            raise AssertionError(f"no QR code: {qr.status_code}")

    async def import_history(self) -> None:
        """Import daily totals of the site and the first link for the days before the visits."""
        today = day_of(self.now_ms)
        last_day = today - VISITS[0][0] // _DAY_S - 1
        for name, thing, tally, per_day in (
            ("sites", self.site, self.site_tally, 28),
            ("links", self.links[0], self.demo_links[0].tally, 6),
        ):
            tally.imported = invented_days(last_day, today, per_day)
            body = {"file": import_file(tally.imported)}
            response = await self.service.call("POST", f"/v1/{name}/{thing['id']}/totals", body, key=f"demo-{name}")
            if response["result"]["added"] != len(tally.imported):
                raise AssertionError(f"imported {response['result']} instead of {len(tally.imported)} days")
        step(f"Imported the totals of the {len(self.site_tally.imported)} days before the visits")

    async def send_views(self, hits: list[Hit], ago_s: int) -> int:
        """Send page views as the snippet does."""
        for hit in hits:
            body = f"{hit.page}\n{hit.referrer}"
            response = await self._send("POST", SITE_HOST, self.site["path"], hit, body)
            if response.status_code != 204:
                raise AssertionError(f"a view got status {response.status_code}")
            self.site_tally.add(hit, self._at(ago_s))
        return len(hits)

    async def send_clicks(self, link: DemoLink, hits: list[Hit], ago_s: int) -> int:
        """Send these clicks on a short link and check each redirect. Return the number of clicks."""
        for hit in hits:
            path = f"/{link.code}?q" if hit.scanned else f"/{link.code}"
            method = (hit.bot.method if hit.bot else "") or "GET"
            response = await self._send(method, LINK_HOST, path, hit)
            target = response.headers.get("Location", "")
            served = link.served(hit, self._at(ago_s), target)
            if response.status_code != 302 or served is None:
                raise AssertionError(f"a click on {link.code} got status {response.status_code} with target {target}")
            link.tally.add(served, self._at(ago_s))
        return len(hits)

    async def browse(self, ago_s: int) -> None:
        """Send real page views: open a page with the snippet in Chromium, then another page without a reload."""
        snippet = self.site["snippet"]
        policy = f"default-src 'none'; script-src '{snippet['csp_hash']}'; connect-src 'self'"
        head = f'<title>Shop</title><meta http-equiv="content-security-policy" content="{policy}">'
        page = f"<!doctype html>{head}{snippet['inline']}<h1>Shop</h1>"
        await self.emulator.add_page(SITE_HOST, "/browser", page)
        walk = ("/browser", "/browser/two")
        hits = [
            Hit(DESKTOP_CHROME, None, "127.0.0.1", "US", "", source, page)
            for page, source in zip(walk, ("", "(internal)"), strict=True)
        ]
        plan = {
            "host_rules": f"MAP * {self.emulator.edge.removeprefix('http://')}",
            "user_agent": DESKTOP_CHROME.user_agent,
            "steps": [
                {"goto": f"http://{SITE_HOST}{walk[0]}"},
                {"idle": True},
                {"push_state": walk[1]},
                {"idle": True},
            ],
        }
        ran = await trio.run_process(
            node_command(BROWSER),
            stdin=json.dumps(plan).encode(),
            capture_stdout=True,
            capture_stderr=True,
            check=False,
        )
        if ran.returncode != 0:
            output = ran.stderr.decode(errors="replace").splitlines()
            why = next((line.strip() for line in output if "Error" in line), "no error message")
            step(f"No browser available ({why}): sending its views over HTTP instead")
            await self.send_views([replace(hit, source="") for hit in hits], ago_s)
            return
        for hit in hits:
            self.site_tally.add(hit, self._at(ago_s))
        step("Chromium opened a page with the snippet and navigated to another")

    async def check_reports(self) -> list[str]:
        """Print all reports as tables. Return messages about numbers that differ from the visits that were sent."""
        wrong: list[str] = []
        links = [("links", link, made.tally) for link, made in zip(self.links, self.demo_links, strict=True)]
        for name, thing, tally in (("sites", self.site, self.site_tally), *links):
            print(f"\n  {thing.get('host') or thing['short_url']}", flush=True)
            for period in PERIODS:
                path = f"/v1/{name}/{thing['id']}/report?period={period}&breakdowns=1"
                report = (await self.service.call("GET", path + (MONTHS if period == "12mo" else "")))["report"]
                wrong += check(f"{name} {period}", report, tally, day_of(self.now_ms))
                print(
                    f"    {period:6} " + "  ".join(f"{n:>4} {what}" for what, n in report["totals"].items()), flush=True
                )
            if report["breakdowns"]:
                show_breakdowns(report["breakdowns"])
        return wrong

    def _at(self, ago_s: int) -> int:
        return self._base_ms(ago_s) + 1_000

    def _base_ms(self, ago_s: int) -> int:
        """Return the platform's time `ago_s` seconds ago, in epoch ms.

        Unless `ago_s` is 0, the time is moved to 20 minutes past its hour, so that no hour ends during the visits.
        """
        then = self.now_ms - ago_s * 1000
        return then if ago_s == 0 else then // _HOUR_MS * _HOUR_MS + 20 * 60_000

    async def _go_to(self, ago_s: int) -> None:
        offset_ms = self._base_ms(ago_s) - time.time_ns() // 1_000_000 if ago_s else 0
        await self.emulator.clock(offset_ms / 1000)

    async def _run_crons(self, ago_s: int) -> None:
        """Run the cron job as often as the Worker needs to add up events, close hours and days, and push.

        If `ago_s` is 0, run the job only in the minutes of the current hour. Later minutes could belong to the next
        day. The Worker would then close a day that, by the service's clock, has not ended.
        """
        base_ms = self._base_ms(ago_s) if ago_s else time.time_ns() // 1_000_000 // _HOUR_MS * _HOUR_MS
        for minute in range(60 if ago_s == 0 else 8):
            await self.emulator.cron(self.platform_account.account_id, "svc-edge", at=base_ms + minute * 60_000)

    async def _send(self, method: str, host: str, path: str, hit: Hit, body: str = "") -> httpx.Response:
        headers = {
            "Host": host,
            "User-Agent": hit.user_agent,
            "X-Emulator-Ip": hit.address,
            "X-Emulator-Cf": json.dumps({"country": hit.country}),
            **dict(hit.bot.headers if hit.bot else ()),
        }
        if method == "POST":
            headers |= {"Content-Type": "text/plain;charset=UTF-8", "Origin": f"https://{host}"}
        elif hit.referrer:
            headers["Referer"] = hit.referrer
        return await self.service.client.request(
            method, f"{self.emulator.edge}{path}", headers=headers, content=body, follow_redirects=False
        )


def check(name: str, report: dict[str, Any], tally: Tally, began_on: int) -> list[str]:
    """Return the numbers of a report (totals, series, comparison, breakdowns) that differ from the independent count.

    `began_on`: the day (days since 1970-01-01) on which the demo started. The reports end on this day, or on the next
    day if midnight UTC has passed since the start.
    """
    wrong = []

    def same(what: str, got: object, sent: object) -> None:
        if got != sent:
            wrong.append(f"    {name} {what}: {got} instead of {sent}")

    first, today = day_number(report["from"]), day_number(report["to"])
    same("end", today in (began_on, began_on + 1), True)
    days_before = {"today": 0, "7d": 6, "30d": 29, "12mo": today - month_start(today, 11)}
    same("start", first, today - days_before[report["period"]])
    same("totals", report["totals"], tally.days(first, today))
    series = report["series"]
    begins = [*(day_number(point["at"][:10]) for point in series), today + 1]
    for number, point in enumerate(series):
        sent = (
            tally.hour(_epoch_ms(point["at"]))
            if report["period"] == "today"
            else tally.days(begins[number], begins[number + 1] - 1)
        )
        same(f"series {point['at']}", {key: point[key] for key in sent}, sent)
    summed = sum(point["views"] for point in series)
    same("series' sum", summed, report["totals"]["views"])
    if report["period"] == "12mo":
        same("months", len(series), 12)
        compared = report["comparison"]
        sent = tally.days(day_number(compared["from"]), day_number(compared["to"]))
        same("totals of the previous year", compared["totals"], sent)
    same("unavailable", report["unavailable"], None)
    for dimension in BREAKDOWNS:
        got = {entry["key"]: entry["n"] for entry in (report["breakdowns"] or {}).get(dimension, [])}
        same(dimension, got, dict(tally.top(dimension, first, today).most_common(10)))
    return wrong


def show_breakdowns(breakdowns: dict[str, list[dict[str, Any]]]) -> None:
    """Print the top entries of each breakdown on one line."""
    for dimension in BREAKDOWNS:
        if entries := breakdowns.get(dimension):
            shown = ", ".join(f"{entry['key'] or '(none)'} {entry['n']}" for entry in entries)
            print(f"      {dimension:10} {shown}", flush=True)


def _epoch_ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--once", action="store_true", help="exit after the report")
    try:
        sys.exit(trio.run(main, parser.parse_args().once))
    except KeyboardInterrupt:
        sys.exit(0)
