"""Examples of the content of alerts, as the store contains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from svc.clock import DAY_MS, HOUR_MS, day_number
from svc.model import AlertKind, SnippetOnPage

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST = day_number("2026-11-23") * DAY_MS + 22 * HOUR_MS


def alert_of(kind: AlertKind, **more: Any) -> dict[str, Any]:
    """Return the content of an alert. `more` replaces fields."""
    facts = {"kind": kind, "site": "site_aaaaaaaaaaaaaaaaaaaa", "host": "shop.example", "first": FIRST, "hours": 1}
    if kind == "silence":
        facts |= {"hours": 5, "snippet": "absent"}
    return facts | {"views": 0 if kind == "silence" else 12_345, "usual": 1_234} | more


def every_alert() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield alerts of all kinds, as (name, content)."""
    for kind in get_args(AlertKind):
        yield kind, alert_of(kind)
    for found in get_args(SnippetOnPage):
        yield f"silence, snippet {found}", alert_of("silence", snippet=found)
    yield "rare views", alert_of("spike", usual=0)
