"""Writes imported months into the database of an account's Worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

from svc.actors.checks import account_state
from svc.clock import day_of, month_of
from svc.edge import d1
from svc.errors import EdgeUnavailable
from svc.model import SERVING
from svc.store import accounts
from svc.worker.imported_months import kept_months, write_statements
from svc.worker.months import SCHEMA, MonthState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.actors.context import Context
    from svc.model import Account


class _State(BaseModel):
    months: MonthState | None = None


def first_kept(account: Account, today: int) -> int | None:
    """Return the oldest month that the account keeps, or None if it keeps all months. `today`: epoch day."""
    kept = account.settings.months
    return None if kept == "forever" else month_of(today) - kept


async def write(context: Context, account_id: str, site_id: str, rows: Mapping[int, str]) -> None:
    """Write the rows of a site's imported months. The write can be repeated. Run this in the account's task.

    Skips months that the Worker has deleted because of their age. `rows`: the JSON of each row, by month. Raises
    NotFound if the account does not exist, Conflict with the code account_not_ready if its Worker cannot store the
    months, or EdgeError if a call to Cloudflare fails.
    """
    account = accounts.present(await context.store.read(accounts.account_by_id(account_id)))
    account_state.check_state(account, SERVING, "breakdowns are stored in its Worker's database")
    if account.database_id is None or (account.edge_schema or 0) < SCHEMA:
        raise accounts.not_ready(account, "The account's Worker has to be updated before breakdowns can be imported.")
    access = context.access(account)
    async with account_state.refusals_recorded(context, account):
        [states] = await d1.query(access, account.database_id, [("select value from meta where key = 'state'", [])])
        try:
            state = _State.model_validate_json(str(states.rows[0]["value"])).months if states.rows else None
        except ValueError as error:
            raise EdgeUnavailable("The state in the Worker's database is not readable.") from error
        kept = kept_months(rows, state, first_kept(account, day_of(context.clock())))
        for statement in write_statements(site_id, {month: rows[month] for month in kept}):
            await d1.query(access, account.database_id, [statement])
