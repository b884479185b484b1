"""Reads all rows in a store, and adds a user with rows in every table."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.errors import ServiceError
from svc.ids import new_id, new_secret
from svc.model import Event, Key, ObsoleteRoute
from svc.remaining_resource import RemainingResource
from svc.store import (
    alerts,
    broken_targets,
    devices,
    disconnect_requests,
    disconnects,
    email_changes,
    notifications,
    operations,
    recipients,
    sessions,
    sites,
    unwanted_routes,
    user_limits,
    users,
    worker_keys,
)
from svc.store.engines.migrate import migrations
from svc.store.idempotency import Claim, StoredResponse, keep_response
from svc.store.keys import add_key
from svc.store.totals import ingest
from svc.store.tx import sql
from svc.worker.pushed import PushedHour, PushedPart
from tests.clock import START_MS
from tests.store.direct_changes import confirm_address
from tests.store.makers import (
    a_broken_target,
    a_link,
    a_mailing,
    a_note,
    a_share,
    a_site,
    a_user,
    an_account,
    new_session,
)

if TYPE_CHECKING:
    from svc.store.tx import Tx


def _tables(verb: str) -> set[str]:
    statements = [statement for migration in migrations("sqlite") for statement in migration.statements]
    return {name for statement in statements for name in re.findall(rf"{verb} table (\w+)", statement)}


TABLES = sorted(_tables("create") - _tables("drop"))
# Tables whose rows do not belong to users.
OF_NOBODY = {"serving", "rollouts", "invitations", "invitation_tokens", "deletion_results", "target_checks"}

# The rows of each table. A row is a tuple of (column, value) pairs. The counter says how often each row occurs.
Rows = dict[str, Counter[tuple[tuple[str, Any], ...]]]


def all_rows() -> Tx[Rows]:
    """Return all rows in the store."""
    found: Rows = {}
    for table in TABLES:
        rows = yield sql(f"select * from {table}")  # the name of the table comes from the schema
        found[table] = Counter(tuple(sorted(dict(row).items())) for row in rows)
    return found


def user_with_all_rows() -> Tx[int]:
    """Add a user with rows in every table, if possible with the service's own transactions. Return the user's id."""
    user_id = yield from a_user()
    yield from confirm_address(user_id)
    until = START_MS + DAY_MS
    yield from sessions.add_session(new_session(user_id, new_secret(), until=until))
    yield Event(user_id, START_MS, "session", "192.0.2.7", "user.change", None, "done")
    yield from users.put_mail_token(user_id, "reset", new_secret(), until)
    yield from devices.remember_device(user_id, new_secret(), START_MS)
    change = email_changes.EmailChange(
        new_id("chg"), user_id, "a@example.com", "b@example.com", "ses", START_MS, until, until, None
    )
    yield from email_changes.request_change(change, "hash", None)
    yield from email_changes.add_token(change.id, "confirm", new_secret())
    yield sql("delete from outbox where user_id = $1", user_id)
    yield from user_limits.set_limits(user_id, {"sites": 500})
    yield from add_key(
        Key(new_id("key"), user_id, None, "svc_x", ("sites",), None, None, START_MS, None), new_secret(), 9
    )
    claim = Claim(user_id, None, "POST", "/v1/sites", "one", "digest")
    yield from keep_response(claim, StoredResponse(201, b"{}", "application/json", {}), START_MS, DAY_MS)
    former_id = yield from _an_account_with_all(user_id, new_secret())
    operation = yield from disconnects.begin_disconnect(former_id, new_id("op"), START_MS)
    yield from disconnects.end_disconnect(
        operation, "svc-op_old", [RemainingResource("worker", "changed", {"worker": "svc-edge"})], START_MS
    )
    yield from _an_account_with_all(user_id, new_secret())
    yield from a_broken_target("https://shop.example.com/sale")
    yield from broken_targets.notify(user_id, day_of(START_MS), START_MS)
    return user_id


def _an_account_with_all(user_id: int, worker_key: str) -> Tx[str]:
    account_id = yield from an_account(user_id)
    running = yield from operations.running(account_id)
    assert running is not None
    yield from operations.token_asked(running.id, START_MS)
    yield from operations.fail(running.id, ServiceError("renew_lost").to_note(), START_MS)
    yield from worker_keys.add_worker_key(account_id, worker_key, running.id)
    site_id, link_id = (yield from a_site(account_id)), (yield from a_link(account_id))
    yield from a_note(account_id, site_id)
    yield from a_note(account_id, account_id, "account")
    yield from a_share(account_id, site_id)
    # Each address gets only one confirmation request per day.
    ann, bob = f"ann{user_id}@example.org", f"bob{user_id}@example.org"
    yield from a_mailing(account_id, account_id, "account", recipients=[ann])
    reports = yield from a_mailing(account_id, site_id, recipients=[ann, bob], alerts=True)
    for recipient in reports.recipients:
        token = new_secret()
        yield from recipients.add_token(recipient.id, token, START_MS)
        yield from (recipients.subscribe if recipient.email == ann else recipients.unsubscribe)(token, START_MS)
    path = yield from sites.unused_path(account_id, "shop.example.com", "/new")
    yield sql(
        "insert into retiring_paths (site_id, path, route_id, until) values ($1, $2, 'route', $3)",
        site_id,
        path,
        START_MS,
    )
    gone = ObsoleteRoute(account_id, "zone", "shop.example.com", "shop.example.com/old*", None, site_id)
    yield from unwanted_routes.add([gone])
    yield from disconnect_requests.request([account_id], START_MS, forced=False)
    yield sql("insert into rollout_accounts (account_id, operation_id) values ($1, $2)", account_id, running.id)
    today = day_of(START_MS)
    for day in (today - 1, today):
        hour = PushedHour(day * DAY_MS, ((site_id, 3, 1, 2), (link_id, 2, 0, 1)))
        as_of = (day + 1) * DAY_MS if day < today else day * DAY_MS + HOUR_MS
        part = PushedPart(1, day, as_of, day < today, (hour,), (day * DAY_MS + HOUR_MS,), hour.rows)
        yield from ingest(account_id, [part], START_MS)
    yield from alerts.advance((yield from alerts.due("", 100)))
    yield from notifications.enqueue(account_id, {}, [{"trouble": "revoked"}], well=False, due_at=None, now=START_MS)
    return account_id
