"""Rules of short links in the real runtime. tests/worker/test_explain.py compares many more clicks with the Worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.harness.installed import CHROME
from edge_worker.test.test_count import IPHONE

if TYPE_CHECKING:
    from edge_worker.harness.installed import InstalledWorker


def rule(path: str, **conditions: Any) -> dict[str, Any]:
    """Return a rule as the service writes it."""
    return {"url": f"https://example.net/{path}", "countries": [], "when": conditions}


async def target(worker: InstalledWorker, query: str = "", *, ua: str = CHROME, language: str | None = None) -> str:
    """Click on the link, and return the path of the destination."""
    headers = {} if language is None else {"accept-language": language}
    visit = await worker.click(f"abc{query}", ua=ua, headers=headers, cf={"country": "DE"})
    assert (visit.status, visit.headers["cache-control"]) == (302, "no-store")
    return visit.headers["location"].removeprefix("https://example.net/")


@pytest.mark.rule("L5")
async def test_click_goes_to_the_first_rule_whose_conditions_all_match(worker: InstalledWorker) -> None:
    rules = [
        rule("at", countries=["AT"], languages=["de"]),
        rule("old", query={"name": "v", "value": "1 ä"}),
        rule("phone", os=["iOS", "Android"], languages=["de"]),
        rule("scan", query={"name": "q"}, devices=["mobile"]),
        rule("br", languages=["pt-br"]),
        rule("pt", languages=["pt"]),
        rule("no-visitor", languages=["fr"], countries=["FR"]),
    ]
    await worker.configure({"link:abc": {"target": "lnk_a", "url": "https://example.net/x", "rules": rules}})
    assert await target(worker) == "x"
    assert await target(worker, "?v=1+%C3%A4", language="de") == "old"
    assert await target(worker, "?v=2&v=1%20%c3%a4") == "old"
    assert await target(worker, "?v=1", language="de") == "x"
    assert await target(worker, ua=IPHONE, language="en;q=0.5,de-AT") == "phone"
    # the visitor prefers English, for which there is no rule
    assert await target(worker, ua=IPHONE, language="en,de-AT;q=0.5") == "x"
    assert await target(worker, ua=IPHONE, language="en,de;q=0") == "x"
    assert await target(worker, "?q", ua=IPHONE) == "scan"
    assert await target(worker, "?q") == "x"
    assert await target(worker, language="pt-BR,pt;q=0.9") == "br"
    assert await target(worker, language="pt-PT,pt-BR;q=0.9") == "pt"
    assert await target(worker, language="fr,pt;q=0.9") == "x"
    assert await target(worker, language="*,pt;q=0.9") == "x"
    # Only the first 500 characters are read.
    assert await target(worker, language="sv;q=0.9," * 60 + "pt") == "x"
    assert await target(worker, language="pt," + "sv;q=0.9," * 5_000) == "pt"
    assert await target(worker, "?" + "a&" * 7_000 + "v=1%20%C3%A4") == "old"


async def test_link_of_an_older_service_needs_no_header(worker: InstalledWorker) -> None:
    rules = [{"countries": ["DE"], "devices": ["mobile"], "url": "https://example.net/de"}]
    await worker.configure({"link:abc": {"target": "lnk_a", "url": "https://example.net/x", "rules": rules}})
    assert await target(worker, ua=IPHONE) == "de"
    assert await target(worker, language="de") == "x"
