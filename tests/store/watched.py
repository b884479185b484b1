"""Sites with alerts, recipients and several weeks of views, for tests of alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc.clock import DAY_MS, HOUR_MS
from svc.store.tx import many, sql
from tests.store.makers import a_mailing, a_site, an_account

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.store.tx import Tx

# A Monday at noon.
NOON = 20_594 * DAY_MS + 12 * HOUR_MS
START = NOON - 40 * DAY_MS + HOUR_MS
ANN, BOB = "ann@example.org", "bob@example.org"


def an_active_account() -> Tx[str]:
    """Add an account whose Worker runs and is synced, and return its id."""
    account_id = yield from an_account()
    yield sql("update accounts set state = 'ready', synced_version = 1000 where id = $1", account_id)
    return account_id


def an_old_site(account_id: str, host: str = "shop.example.com", views: int = 100) -> Tx[str]:
    """Add a site with `views` views in each hour of the 40 days before `NOON`, and return its id."""
    site_id = yield from a_site(account_id, host)
    yield sql(
        "update sites set state = 'active', created_at = $2, first_view_at = $2, live_at = $2 where id = $1",
        site_id,
        START,
    )
    yield many(
        "insert into hours (target, at, views, bots, visitors, as_of, final) values ($1, $2, $3, 0, 1, $4, 1)",
        [(site_id, at, views, at + HOUR_MS) for at in range(START, NOON, HOUR_MS)],
    )
    return site_id


def with_alerts(
    account_id: str, target: str, kind: str = "site", recipients: Sequence[str] = (ANN, BOB), confirmed: bool = True
) -> Tx[None]:
    """Turn alerts on. Only hours after the last push can raise alerts."""
    yield from a_mailing(account_id, target, kind, recipients=recipients, weekly=False, monthly=False, alerts=True)
    if confirmed:
        yield sql("update mailing_recipients set state = 'confirmed' where mailing = $1", target)


def pushed(account_id: str, until: int, *rows: tuple[str, int, int]) -> Tx[None]:
    """Store a push of all hours until `until`. `rows`: (site id, start of the hour, views)."""
    if rows:
        yield many(
            "insert into hours (target, at, views, bots, visitors, as_of, final) values ($1, $2, $3, 0, 1, $4, 1)",
            [(site_id, at, views, until) for site_id, at, views in rows],
        )
    yield sql(
        "insert into pushed (account_id, as_of) values ($1, $2) on conflict (account_id) do update"
        " set as_of = excluded.as_of where excluded.as_of > pushed.as_of",
        account_id,
        until,
    )


def a_watched_site(views: int = 100) -> Tx[tuple[str, str]]:
    """Add a site with alerts, and push its hours until `NOON`. Return the ids of the account and of the site."""
    account_id = yield from an_active_account()
    site_id = yield from an_old_site(account_id, f"s{account_id[-6:]}.example.com", views)
    yield from pushed(account_id, NOON)
    yield from with_alerts(account_id, site_id)
    return account_id, site_id
