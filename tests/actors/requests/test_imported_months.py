"""Tests that import the lists of a Plausible export, from the request to the report, with a real Worker database."""

from __future__ import annotations

import base64
import json
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import day_number, day_of, day_text, month_of
from svc.edge import d1
from svc.store.tx import sql
from tests.imports.totals.files import PLAUSIBLE, zipped
from tests.store.makers import a_site

if TYPE_CHECKING:
    from svc.store.tx import Tx
    from tests.actors.conftest import Service

pytestmark = pytest.mark.rule("Y10")

PAGES = "date,hostname,page,visits,visitors,pageviews\n"


def months_ago(service: Service, months: int) -> date:
    """Return the first day of an earlier month."""
    first = date.fromisoformat(day_text(day_of(service.clock()))).replace(day=1)
    for _ in range(months):
        first = (first - timedelta(days=1)).replace(day=1)
    return first


def export(days: dict[date, tuple[str, int]]) -> str:
    """Return a base64-encoded export in Plausible's format, with one page and its views for each day."""
    visitors = "".join(f'"{day}",1,{views},0,1,0\n' for day, (_, views) in days.items())
    pages = "".join(f'{day},h,"{page}",1,1,{views}\n' for day, (page, views) in days.items())
    files = {"imported_visitors_1.csv": PLAUSIBLE + visitors, "imported_pages_1.csv": PAGES + pages}
    return base64.b64encode(zipped(files)).decode()


@pytest.fixture
async def site(service: Service) -> str:
    """A site that was added today, in an account that is ready."""
    account_id = await service.ready()
    await service.idle()
    site: str = await service.store.run(a_site(account_id))
    return site


async def imported(service: Service, site: str, **body: Any) -> Any:
    response = await service.call("POST", f"/v1/sites/{site}/totals", body)
    assert response.status == 200, response.raw
    return response.body["result"]


async def report(service: Service, site: str, first: date) -> Any:
    query = f"from={first}&to={day_text(day_of(service.clock()))}&breakdowns=1"
    response = await service.call("GET", f"/v1/sites/{site}/report?{query}")
    assert response.status == 200, response.raw
    return response.body["report"]


async def rows(service: Service) -> dict[int, Any]:
    """Return the rows of the table `month` in the Worker's database, by month."""
    account = await service.account()
    assert account.database_id is not None
    [found] = await d1.query(service.context.access(account), account.database_id, [("select * from month", [])])
    return {row["month"]: json.loads(row["totals"]) for row in found.rows}


async def test_lists_are_shown_by_month_and_the_month_of_the_site_is_left_out(service, site):
    earlier, last, this = (months_ago(service, months) for months in (2, 1, 0))
    days = {earlier + timedelta(days=4): ("/a", 5), last: ("/a", 2), last + timedelta(days=1): ("/b", 4)}
    if day_of(service.clock()) > day_number(this.isoformat()):
        days[this] = ("/c", 9)
    file = export(days)
    dry = await imported(service, site, file=file, dry_run=True)
    assert (dry["added"], dry["breakdown_months"], await rows(service)) == (len(days), 2, {})
    result = await imported(service, site, file=file)
    assert (result["added"], result["breakdown_months"]) == (len(days), 2)
    found = await report(service, site, earlier)
    assert {page["key"]: page["n"] for page in found["breakdowns"]["pages"]} == {"/a": 7, "/b": 4}
    assert found["totals"]["views"] == sum(views for _, views in days.values())
    missing = [(each["from"], each["to"], each["reason"]) for each in found["breakdowns_missing"]]
    assert missing == ([(this.isoformat(), this.isoformat(), "imported")] if this in days else [])
    assert {month: row["views"] for month, row in (await rows(service)).items()} == {
        month_of(day_number(earlier.isoformat())): 5,
        month_of(day_number(last.isoformat())): 6,
    }


async def test_repeated_import_writes_the_same_rows_and_can_correct_them(service, site):
    first = months_ago(service, 3)
    await imported(service, site, file=export({first: ("/a", 5)}))
    before = await rows(service)
    again = await imported(service, site, file=export({first: ("/a", 5)}))
    assert (again["added"], again["unchanged"], again["breakdown_months"]) == (0, 1, 1)
    assert await rows(service) == before
    await imported(service, site, file=export({first: ("/b", 5)}))
    assert [row["pages"] for row in (await rows(service)).values()] == [{"/b": 5}]


async def test_month_keeps_its_breakdowns_if_its_days_are_not_replaced(service, site):
    first, later = months_ago(service, 3), months_ago(service, 2)
    await imported(service, site, file=export({first: ("/a", 5)}))
    other = export({first: ("/b", 9), later: ("/b", 4)})
    for options in ({"dry_run": True}, {}):
        result = await imported(service, site, file=other, **options)
        assert (result["added"], result["different"], result["breakdown_months"]) == (1, 1, 1)
    assert [row["pages"] for row in (await rows(service)).values()] == [{"/a": 5}, {"/b": 4}]
    assert (await imported(service, site, file=other, replace=True))["breakdown_months"] == 2
    assert [row["pages"] for row in (await rows(service)).values()] == [{"/b": 9}, {"/b": 4}]


async def test_name_that_resembles_an_attack_is_imported(service, site):
    first = months_ago(service, 1)
    page = "/etc/passwd/../../../<script>"
    await imported(service, site, file=export({first: (page, 5)}))
    assert [row["pages"] for row in (await rows(service)).values()] == [{page: 5}]


async def test_import_without_breakdowns_writes_nothing_into_the_database(service, site):
    result = await imported(service, site, file=export({months_ago(service, 1): ("/a", 5)}), breakdowns=False)
    assert (result["added"], result["breakdown_months"]) == (1, 0)
    assert await rows(service) == {}


async def test_failure_of_cloudflare_imports_nothing_and_the_import_can_be_repeated(service, site):
    file = export({months_ago(service, 1): ("/a", 5)})
    await service.emulator.fault("refuse", "*/query", status=503, times=None)
    response = await service.call("POST", f"/v1/sites/{site}/totals", {"file": file})
    assert (response.status, response.body["error"]["code"]) == (503, "cloudflare_unavailable")
    assert (await report(service, site, months_ago(service, 1)))["totals"]["views"] == 0
    await service.emulator.clear_faults()
    assert (await imported(service, site, file=file))["added"] == 1


async def test_months_that_the_account_does_not_keep_are_left_out(service, site):
    account = await service.account()
    assert (await service.call("PATCH", f"/v1/accounts/{account.id}", {"months_kept": 6})).status == 200
    days = {months_ago(service, months): ("/a", months) for months in (5, 6, 7, 8)}
    result = await imported(service, site, file=export(days))
    assert (result["added"], result["breakdown_months"]) == (4, 2)
    assert sorted(row["views"] for row in (await rows(service)).values()) == [5, 6]


async def test_account_without_a_database_imports_only_without_breakdowns(service, site):
    file = export({months_ago(service, 1): ("/a", 5)})
    account = await service.account()
    await service.store.run(_without_months(account.id))
    response = await service.call("POST", f"/v1/sites/{site}/totals", {"file": file})
    assert (response.status, response.body["error"]["code"]) == (409, "account_not_ready")
    assert (await imported(service, site, file=file, breakdowns=False))["added"] == 1


def _without_months(account_id: str) -> Tx[None]:
    """Record that the account's Worker has a version that does not support months."""
    yield sql("update accounts set edge_schema = 1 where id = $1", account_id)
