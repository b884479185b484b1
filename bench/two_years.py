"""A site whose views have been counted for two years.

Its daily totals are in the store, and its days and months with breakdowns are in the account's database.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bench.service import NOW
from edge_worker.local_http import local_client
from svc.clock import DAY_MS, day_text
from svc.store.tx import many, sql
from svc.worker.months import whole_months

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from svc.store.tx import Tx

DAYS = 730
_KEPT_DAYS = 35
_TODAY = NOW // DAY_MS
FIRST_DAY = _TODAY - DAYS + 1
# For each list: the number of keys, and the length of each key in characters. With these numbers, the rows of days and
# months have about their maximum size.
_Sizes = dict[str, tuple[int, int]]
_OF_DAY: _Sizes = {
    "pages": (200, 190), "sources": (100, 140), "countries": (100, 2), "devices": (5, 8), "browsers": (40, 12),
    "os": (30, 12), "bots": (20, 6), "campaigns": (50, 50), "entries": (100, 50), "arrivals": (100, 70),
}  # fmt: skip
_OF_MONTH: _Sizes = {
    "pages": (60, 36), "sources": (50, 16), "countries": (60, 2), "devices": (5, 8), "browsers": (25, 8), "os": (20, 8),
    "bots": (20, 5), "campaigns": (30, 26), "entries": (40, 36), "arrivals": (40, 48),
}  # fmt: skip


def add_days(site_id: str) -> Tx[None]:
    """Make the site two years old, and add the site's daily totals."""
    yield sql("update sites set created_at = $2 where id = $1", site_id, FIRST_DAY * DAY_MS)
    yield sql("delete from days where target = $1", site_id)
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, 500, 10, 300, $3, 1)",
        [(site_id, day, (day + 1) * DAY_MS) for day in range(FIRST_DAY, _TODAY)],
    )


async def fill_database(emulator: Emulator, customer: Customer, site_id: str) -> None:
    """Store the site's days and months in the account's database, as if its Worker had counted them."""
    _, token = await emulator.create_token(customer.account_id, rights=["D1 Write"], expires_in_s=None)
    months = whole_months(FIRST_DAY, _TODAY - 1)
    added = {"from": months[0].number, "month": months[-1].number + 1, "target": "", "day": None, "first_days": {}}
    state = {"day": _TODAY - 1, "kept_from": _TODAY - _KEPT_DAYS, "visit_lists": True, "months": added}
    async with local_client(timeout=60) as api:
        databases = f"{emulator.api}/accounts/{customer.account_id}/d1/database"
        headers = {"Authorization": f"Bearer {token}"}
        [database] = (await api.get(databases, headers=headers)).raise_for_status().json()["result"]

        async def run(text: str, *parameters: str) -> None:
            body = {"sql": text, "params": parameters}
            (await api.post(f"{databases}/{database['uuid']}/query", json=body, headers=headers)).raise_for_status()

        await run("update meta set value = json_patch(value, ?) where key = 'state'", json.dumps(state))
        for day in range(_TODAY - _KEPT_DAYS, _TODAY):
            totals = {"views": 500, "visitors": 300, **_lists(_OF_DAY, day), "targets": {}}
            await run("insert into day values (?, cast(? as integer), ?)", site_id, str(day), json.dumps(totals))
        for month in months:
            totals = {"from": month.first, "views": 15_000, "visitors": 9_000, **_lists(_OF_MONTH, month.number)}
            await run(
                "insert into month values (cast(? as integer), ?, ?)", str(month.number), site_id, json.dumps(totals)
            )


def report_path(site_id: str) -> str:
    """Return the path and query of the report over two years, with all breakdowns and a comparison."""
    period = f"from={day_text(FIRST_DAY)}&to={day_text(_TODAY)}&compare=year"
    return f"/v1/sites/{site_id}/report?{period}&breakdowns=1&limit=100"


def check_report(report: dict[str, Any]) -> None:
    """Raise AssertionError if the report does not have the breakdowns of all months."""
    first = day_text(whole_months(FIRST_DAY, _TODAY - 1)[0].first)
    if report["unavailable"] or report["breakdowns_from"] != first or len(report["breakdowns"]["pages"]) < 100:
        raise AssertionError(f"the report lacks months: {report}")


def _lists(sizes: _Sizes, number: int) -> dict[str, dict[str, int]]:
    """Return lists in which half of the keys depend on the number of the day or month."""
    return {
        name: {_key(name, n if n % 2 else n + number * keys, chars): 1 + n for n in range(keys)}
        for name, (keys, chars) in sizes.items()
    }


def _key(name: str, number: int, chars: int) -> str:
    if name == "countries":
        return chr(65 + number // 26 % 26) + chr(65 + number % 26)
    text = f"{number}".ljust(chars, "x")
    return f"s{number}.example /{text}" if name == "arrivals" else text
