"""Examples of the content of email reports, as the store contains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from svc.clock import day_number
from svc.model import NoteKind
from svc.store.report_periods import period_due

if TYPE_CHECKING:
    from collections.abc import Iterator

    from svc.model import MailingKind

WEEK = period_due("weekly", day_number("2026-11-23"))
MONTH = period_due("monthly", day_number("2026-11-01"))
NOTE_FACTS = {"hours": "3", "host": "go.shop.example", "since": "2026-11-17", "until": "2026-11-18"}


def entry(name: str, views: int, before: int | None = None) -> dict[str, Any]:
    """Return the counts of a site or link."""
    counts = {"views": views, "visitors": views // 2, "bots": views // 3}
    earlier = None if before is None else {"views": before, "visitors": before // 2, "bots": before // 3}
    return {"name": name, **counts, "before": earlier}


def note(kind: NoteKind | None, **facts: str) -> dict[str, Any]:
    """Return a note that the service wrote, or a user's note if `kind` is None."""
    return {"day": WEEK.first, "text": "Newsletter" if kind is None else "", "kind": kind, "facts": facts}


def facts_of(kind: MailingKind, **more: Any) -> dict[str, Any]:
    """Return the content of a report about a site. `more` replaces fields."""
    period = WEEK if kind == "weekly" else MONTH
    return {
        "kind": kind,
        "first": period.first,
        "last": period.last,
        "target_kind": "site",
        "target": "site_aaaaaaaaaaaaaaaaaaaa",
        "name": "shop.example",
        "total": entry("shop.example", 12_345, 10_000),
        "days": [100 * day for day in range(period.last + 1 - period.first)],
        "sites": [],
        "more_sites": 0,
        "links": [entry("go.shop.example/sale", 40, 20), entry("go.shop.example/new", 7)],
        "notes": [note(None)],
        "more_notes": False,
        "missing_days": 0,
        "lists": {
            "pages": [["/", 9_000], ["/pricing", 1_200], ["(other)", 4]],
            "sources": [["", 700], ["Google", 300]],
            "bots": [["list", 2_000], ["newer", 3]],
        },
        "agrees": True,
    } | more


def every_report() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield reports of all kinds, as (name, content)."""
    yield "weekly", facts_of("weekly")
    yield "monthly", facts_of("monthly", listed_from=MONTH.first + 3, agrees=False)
    yield "empty", facts_of("weekly", total=entry("shop.example", 0), days=[0] * 7, lists={}, links=[], notes=[])
    yield "unchanged", facts_of("weekly", total=entry("shop.example", 5, 5))
    yield "fewer", facts_of("weekly", total=entry("shop.example", 5, 50))
    yield "incomplete", facts_of("weekly", missing_days=1, unavailable="cloudflare", lists={})
    yield "very incomplete", facts_of("weekly", missing_days=3)
    yield (
        "account",
        facts_of(
            "weekly",
            target_kind="account",
            name="Läden & Söhne",
            sites=[entry(f"shop{n}.example", n, n or None) for n in range(20)],
            more_sites=1_234,
            lists={},
        ),
    )
    every = [note(kind, **NOTE_FACTS) for kind in get_args(NoteKind)]
    still_open = {name: value for name, value in NOTE_FACTS.items() if name != "until"}
    every += [note("route_missing", **still_open), note("link_host_route_missing", **still_open)]
    yield "notes", facts_of("weekly", notes=every, more_notes=True)
    yield "note of a newer version", facts_of("weekly", notes=[note(None) | {"kind": "newer"}])
    hostile = "<b>x\"'&\n\N{RIGHT-TO-LEFT OVERRIDE}y" + "z" * 5_000
    yield (
        "hostile",
        facts_of(
            "weekly",
            name=hostile,
            links=[entry(hostile, 1)],
            notes=[note(None) | {"text": hostile}],
            lists={name: [[hostile, 5]] for name in ("pages", "sources", "bots")},
        ),
    )
