"""Transactions on advice, which compares an account's usage with the limits of the account's Cloudflare plan."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from svc.model import Advice, Measured
from svc.store.tx import Tx, from_json, from_json_as, sql, to_json

if TYPE_CHECKING:
    from svc.model import EdgePlan


def keep_advice(account_id: str, advice: Advice, plan: EdgePlan, due_at: int) -> Tx[None]:
    """Store advice that is based on the limits of the Cloudflare plan `plan`.

    `due_at`: when the next advice is due (epoch ms).

    If the account's plan has changed in the meantime, nothing is stored, because new advice is already due.
    """
    yield sql(
        "update accounts set advice = $3, advice_due_at = $4 where id = $1 and plan = $2",
        account_id,
        plan,
        to_json(advice),
        due_at,
    )


def advice_from_json(text: str | None) -> Advice | None:
    """Return the advice that is stored as JSON; None if none is stored."""
    advice = from_json_as(Advice, text)
    if advice is None:
        return None
    known = {metric.name for metric in fields(Measured)}
    metrics = {
        name: Measured(**{field: value for field, value in metric.items() if field in known})
        for name, metric in from_json(text).get("metrics", {}).items()
    }
    return replace(advice, metrics=metrics, unavailable=tuple(advice.unavailable))
