"""The links of the demo, with rules, a split and a period, and the expected target of each click."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from edge_worker.harness.visitors import Tally

if TYPE_CHECKING:
    from edge_worker.harness.visitors import Hit

SHOP = "https://shop.example"
_DAY_MS = 86_400_000


@dataclass
class DemoLink:
    """A link, and an independent count of the clicks that the demo sends."""

    fields: dict[str, Any]  # for POST /v1/links
    every: int  # 3: the link gets every third click that the demo sends
    starts_at: int = 0  # epoch ms
    tally: Tally = field(default_factory=Tally)

    @property
    def code(self) -> str:
        """Return the code of the link."""
        return str(self.fields["code"])

    def served(self, hit: Hit, at: int, target: str) -> Hit | None:
        """Return the click as the report must count it, including its target. Return None if the redirect was wrong.

        `at`: the time of the click in epoch ms. `target`: the URL to which the Worker redirected the visitor.
        """
        if at < self.starts_at:
            return replace(hit, outside="early") if target == self.fields["after_url"] else None
        rule = next((rule for rule in self.fields.get("rules", ()) if _matches(rule, hit)), None)
        variants = [variant["url"] for variant in self.fields.get("split", ())]
        if target not in ([rule["url"]] if rule else variants or [self.fields["url"]]):
            return None
        return replace(hit, served=target) if variants or "rules" in self.fields else hit


def _matches(rule: dict[str, Any], hit: Hit) -> bool:
    # All bots that the demo simulates are desktop programs.
    device = "desktop" if hit.bot or hit.agent.device == "desktop" else "mobile"
    return hit.country in rule.get("countries", [hit.country]) and device in rule.get("devices", [device])


def demo_links(now_ms: int) -> list[DemoLink]:
    """Return the links to create. `now_ms`: the time of the demo's last visits in epoch ms."""
    starts_at = now_ms - 27 * _DAY_MS // 2  # between two of the days with visits
    return [
        DemoLink(
            {
                "code": "hello",
                "url": f"{SHOP}/landing",
                "title": "Landing page",
                "tags": ["poster", "website"],
                "rules": [
                    {"countries": ["DE"], "url": f"{SHOP}/de"},
                    {"devices": ["mobile"], "url": f"{SHOP}/app"},
                ],
            },
            every=1,
        ),
        DemoLink(
            {
                "code": "shoes",
                "url": f"{SHOP}/shoes",
                "title": "New shoes",
                "tags": ["newsletter"],
                "split": [{"url": f"{SHOP}/shoes/photos", "share": 70}, {"url": f"{SHOP}/shoes/videos", "share": 30}],
            },
            every=2,
        ),
        DemoLink(
            {
                "code": "sale",
                "url": f"{SHOP}/sale",
                "title": "Sale",
                "tags": ["newsletter", "poster"],
                "starts_at": _text_of(starts_at),
                "ends_at": _text_of(now_ms + 14 * _DAY_MS),
                "after_url": f"{SHOP}/newsletter",
            },
            every=3,
            starts_at=starts_at,
        ),
    ]


def _text_of(at: int) -> str:
    return datetime.fromtimestamp(at // 1000, UTC).isoformat()
