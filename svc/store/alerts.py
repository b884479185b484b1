"""Transactions on alerts: sites with hours to check, their views by hour, and the emails with alerts.

A site is checked if alerts are turned on in its own email reports or in those of its account. A single transaction
queues the emails and stores the state after the check. This transaction does nothing if another task has already
checked the same hours. No alert is therefore lost or sent twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from svc.clock import DAY_MS, HOUR_MS
from svc.store import outbox
from svc.store.locks import lock_accounts
from svc.store.tx import Tx, from_json, placeholders, sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc.model import AlertKind, JsonObject
    from svc.store.tx import Row

# A Worker pushes an hour's counts within the next hour. If a push covers more than this time, the Worker may have
# stopped for a while, and views may be missing.
PUNCTUAL_MS = 2 * HOUR_MS


@dataclass(frozen=True)
class CheckState:
    """The state of a site's alerts after a check; see the table `alert_states`."""

    checked_until: int
    punctual_from: int
    lasting: AlertKind | None = None
    day: int = 0
    alerts: int = 0


@dataclass(frozen=True)
class WatchedSite:
    """A site with alerts, for which the Worker has pushed hours that are not checked yet. Times are epoch ms.

    `as_of`: the end of the last pushed hour. `alerts_from`: hours from this time on can raise alerts.
    `comparable_from`: hours from this time on can be compared with each other. It is the time of the site's first view,
    or of the last change of its settings or snippet, whichever is later. `has_problem`: True if an error of the site,
    its account or its Worker can affect the counts. `is_complete`: True if the Worker's queue was empty after the last
    push. `state`: None if the site was never checked.
    """

    id: str
    account_id: str
    user_id: int
    host: str
    as_of: int
    alerts_from: int
    comparable_from: int
    has_problem: bool
    is_complete: bool
    state: CheckState | None

    @property
    def was_punctual(self) -> bool:
        """Return True if each hour since the last check was pushed in time, and the site has no problem."""
        state = self.state
        return state is not None and not self.has_problem and self.as_of - state.checked_until <= PUNCTUAL_MS


# The sites for which alerts are turned on. SQLite uses the index on `alerts_from` only with the condition `alerts_from
# >= 0`.
_WATCHED = (
    "select id, min(alerts_from) as alerts_from from ("
    "select target as id, alerts_from from mailings where alerts_from >= 0 and target_kind = 'site'"
    " union all select s.id, m.alerts_from from mailings m join sites s on s.account_id = m.account_id"
    " where m.alerts_from >= 0 and m.target_kind = 'account') one where id > $1 group by id"
)


def due(after: str, most: int) -> Tx[list[WatchedSite]]:
    """Return at most `most` sites with pushed hours that are not checked yet, in the order of their ids.

    `after`: the id of the last site of the previous call, or "".
    """
    rows = yield sql(
        "select s.id, s.account_id, s.user_id, s.host, s.created_at, s.first_view_at, s.live_at, s.state, s.version,"  # noqa: S608  # SQL of this file
        " s.disabled_at, s.warnings, coalesce(s.error, s.config_error) as error, a.state as account_state,"
        " a.synced_version, a.restored_as_of, a.warnings as account_warnings, a.push,"
        " u.disabled_at as user_disabled_at, p.as_of, w.alerts_from, t.checked_until, t.punctual_from,"
        " t.lasting, t.alert_day, t.alerts_sent"
        f" from ({_WATCHED}) w join sites s on s.id = w.id join pushed p on p.account_id = s.account_id"
        " join accounts a on a.id = s.account_id join users u on u.id = s.user_id"
        " left join alert_states t on t.site_id = s.id"
        " where s.state <> 'deleted' and (t.checked_until is null or t.checked_until < p.as_of)"
        " order by s.id limit $2",
        after,
        most,
    )
    return [_watched(row) for row in rows]


def views_in_hours(site_ids: Sequence[str], hours: Sequence[int]) -> Tx[dict[str, dict[int, int]]]:
    """Return the views of these sites in these hours (their starts in epoch ms). Hours without views are absent."""
    rows = yield sql(
        f"select target, at, views from hours where target = any($1) and at in ({placeholders(len(hours), first=2)})",  # noqa: S608  # placeholders only
        tuple(site_ids),
        *hours,
    )
    found: dict[str, dict[int, int]] = {site_id: {} for site_id in site_ids}
    for row in rows:
        found[row["target"]][row["at"]] = row["views"]
    return found


def views_between(site_id: str, from_ms: int, to_ms: int) -> Tx[dict[int, int]]:
    """Return the views of a site by hour in [from_ms, to_ms). Hours without views are absent."""
    rows = yield sql(
        "select at, views from hours where target = $1 and at >= $2 and at < $3 order by at", site_id, from_ms, to_ms
    )
    return {row["at"]: row["views"] for row in rows}


def advance(sites: Sequence[WatchedSite]) -> Tx[None]:
    """Record that the pushed hours of these sites raise no alert. Skip sites that another task has checked.

    Also record whether the hours arrived in time. They count as late if they cover more than `PUNCTUAL_MS`, or if the
    site has a problem.
    """
    yield from lock_accounts(site.account_id for site in sites if site.state is None)  # these sites get a row
    groups: dict[tuple[int, int | None, bool], list[str]] = {}
    for site in sites:
        before = None if site.state is None else site.state.checked_until
        groups.setdefault((site.as_of, before, site.was_punctual), []).append(site.id)
    for (as_of, before, was_punctual), ids in sorted(groups.items(), key=repr):
        if before is None:
            yield sql(
                "insert into alert_states (site_id, account_id, checked_until, punctual_from)"
                " select s.id, s.account_id, cast($2 as bigint), cast($2 as bigint) from sites s"
                " join accounts a on a.id = s.account_id where s.id = any($1) and s.state <> 'deleted'"
                " on conflict (site_id) do nothing",
                tuple(ids),
                as_of,
            )
        else:
            punctual = "punctual_from" if was_punctual else "cast($2 as bigint)"
            yield sql(
                f"update alert_states set checked_until = $2, punctual_from = {punctual}"  # noqa: S608  # SQL of this function
                " where site_id = any($1) and checked_until = $3",
                tuple(ids),
                as_of,
                before,
            )


def send(site: WatchedSite, state: CheckState, alerts: Sequence[JsonObject], now: int) -> Tx[int]:
    """Store the state of a site after a check, and queue its alerts. Returns the number of emails.

    `alerts`: the content of each alert; see `mail/alert.py`.

    Nothing is queued if another task has checked the site in the meantime. Each confirmed address gets an alert only
    once, even if it gets the email reports of both the site and the account.
    """
    stored = yield sql(
        "update alert_states set checked_until = $2, punctual_from = $3, lasting = $4, alert_day = $5, alerts_sent = $6"
        " where site_id = $1 and checked_until = $7 returning site_id",
        site.id,
        state.checked_until,
        state.punctual_from,
        state.lasting,
        state.day,
        state.alerts,
        -1 if site.state is None else site.state.checked_until,
    )
    if not stored or not alerts:
        return 0
    found = yield from recipients(site.id, site.account_id)
    for alert in alerts:
        for each in found:
            yield from outbox.post(
                "alert",
                each["email"],
                now,
                now + DAY_MS,
                user_id=each["user_id"],
                facts={"recipient": each["id"], "alert": alert},
                language=each["language"],
            )
    return len(found) * len(alerts)


def recipients(site_id: str, account_id: str) -> Tx[list[Row]]:
    """Return the rows of the confirmed recipients of a site's alerts. Each address occurs once."""
    rows = yield sql(
        "select r.id, r.email, r.language, m.user_id from mailings m join mailing_recipients r on r.mailing = m.target"
        " where m.target in ($1, $2) and m.alerts_from is not null and r.state = 'confirmed' and r.listed = 1"
        " order by case when m.target_kind = 'site' then 1 else 0 end, r.position desc, r.id desc",
        site_id,
        account_id,
    )
    # Keep only the last row of each address. The rows of the site's own reports come last, so they take precedence.
    # Then reverse the order.
    return list({row["email"].lower(): row for row in rows}.values())[::-1]


def is_counted(site_id: str) -> Tx[bool]:
    """Return True if the site exists, and the operator has not disabled it."""
    return bool(
        (yield sql("select 1 from sites where id = $1 and state <> 'deleted' and disabled_at is null", site_id))
    )


def _watched(row: Row) -> WatchedSite:
    state = None
    if row["checked_until"] is not None:
        state = CheckState(
            row["checked_until"], row["punctual_from"], row["lasting"], row["alert_day"], row["alerts_sent"]
        )
    push: dict[str, Any] = from_json(row["push"]) or {}
    return WatchedSite(
        id=row["id"],
        account_id=row["account_id"],
        user_id=row["user_id"],
        host=row["host"],
        as_of=row["as_of"],
        alerts_from=row["alerts_from"],
        comparable_from=max(row["created_at"], row["first_view_at"] or 0, row["live_at"] or 0),
        has_problem=_has_problem(row, push),
        is_complete=push.get("queue", 0) == 0,
        state=state,
    )


def _has_problem(row: Row, push: Mapping[str, Any]) -> bool:
    """Return True if an error or a changed setting, rather than the site's visitors, may have changed the counts."""
    return bool(
        row["state"] != "active"
        or row["error"] is not None
        or row["disabled_at"] is not None
        or row["user_disabled_at"] is not None
        or from_json(row["warnings"])
        or row["account_state"] != "ready"
        or "crons_stopped" in from_json(row["account_warnings"])
        or row["restored_as_of"] is not None
        or row["version"] > row["synced_version"]
        or push.get("error_kind") == "cron"
    )
