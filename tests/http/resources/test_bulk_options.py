"""PATCH /v1/links/bulk with rules, periods, splits and `forward_query`: the new fields of each link are validated
together with the link's other fields.
"""

from __future__ import annotations

from typing import Any

import pytest

from svc.clock import DAY_MS, iso
from svc.model import Rule, Variant
from tests.clock import START_MS
from tests.http.conftest import OTHER_EDGE_ACCOUNT
from tests.http.resources.test_bulk_changes import PATH, add, brief, link_of, version_of
from tests.http.serving.test_refusals import is_error

pytestmark = [pytest.mark.both_engines, pytest.mark.rule("L3")]

JSON = dict[str, Any]
FIRST, SECOND, THIRD = (iso(START_MS + days * DAY_MS) for days in (1, 2, 3))
SPLIT = [{"url": "https://b.example/", "share": 30}, {"url": "https://c.example/", "share": 70}]
RULES = [{"url": "https://m.example/", "languages": ["de"], "os": ["iOS"], "query": {"name": "a"}}]
ALL: JSON = {
    "rules": RULES,
    "forward_query": True,
    "starts_at": FIRST,
    "ends_at": SECOND,
    "after_url": "https://over.example/",
    "split": SPLIT,
}
NONE: JSON = {"rules": [], "forward_query": False, "starts_at": "", "ends_at": "", "after_url": "", "split": []}


async def change(world, session, link_ids: list[str], fields: JSON, **more: Any) -> list[JSON]:
    """Change links. Return the results."""
    response = await world.call("PATCH", PATH, {"ids": link_ids, "set": fields, **more}, headers=session)
    assert response.status == 200, response.raw
    results: list[JSON] = response.body["results"]
    return results


def issue_of(result: JSON) -> tuple[str, str]:
    [issue] = result["error"]["details"]["issues"]
    return issue["path"], issue["code"]


async def shown(world, session, link_id: str) -> JSON:
    link = (await world.call("GET", f"/v1/links/{link_id}", headers=session)).body["link"]
    return {name: link[name] for name in ALL}


async def test_every_option_is_set_and_removed(world):
    user, session, account = await world.ready()
    ids = [await add(world, account, code, title="Kept") for code in ("one", "two")]
    version = await version_of(world, account)
    for fields, number in ((ALL, 1), (NONE, 2)):
        results = await change(world, session, ids, fields)
        assert brief(results) == [("one", True, None), ("two", True, None)]
        assert [each["changed"] for each in await change(world, session, ids, fields)] == [False, False]
        assert await version_of(world, account) == version + number
        for link_id in ids:
            link = await link_of(world, user, link_id)
            assert (link.title, link.version) == ("Kept", version + number)
            options = await shown(world, session, link_id)
            rules = options.pop("rules")
            assert [{name: value for name, value in rule.items() if value} for rule in rules] == fields["rules"]
            assert options == {
                name: value or (None if name != "forward_query" else False)
                for name, value in fields.items()
                if name != "rules"
            }


@pytest.mark.parametrize("name", ALL)
async def test_one_option_leaves_the_others_unchanged(world, name):
    user, session, account = await world.ready()
    options: JSON = {
        "rules": (Rule("https://m.example/", languages=("de",)),),
        "forward_query": True,
        "starts_at": START_MS - DAY_MS,
        "ends_at": START_MS + 9 * DAY_MS,
        "after_url": "https://after.example/",
        "split": (Variant("https://x.example/", 50), Variant("https://y.example/", 50)),
    }
    link_id = await add(world, account, "one", **options)
    [result] = await change(world, session, [link_id], {name: NONE[name]})
    assert result["changed"]
    link = await link_of(world, user, link_id)
    removed = {"rules": (), "forward_query": False, "split": ()}.get(name)
    assert {each: getattr(link, each) for each in options} == {**options, name: removed}


async def test_period_is_checked_with_the_other_end_of_each_link(world):
    user, session, account = await world.ready()
    free = await add(world, account, "free")
    early = await add(world, account, "early", ends_at=START_MS + DAY_MS)
    late = await add(world, account, "late", starts_at=START_MS + 3 * DAY_MS, ends_at=START_MS + 9 * DAY_MS)
    ids = [free, early, late]
    before = {link_id: await link_of(world, user, link_id) for link_id in ids}
    ends_first = [("free", True, None), ("early", True, None), ("late", False, "invalid_request")]
    starts_last = [("free", True, None), ("early", False, "invalid_request"), ("late", True, None)]
    for fields, expected in (({"ends_at": SECOND}, ends_first), ({"starts_at": SECOND}, starts_last)):
        results = await change(world, session, ids, fields, dry_run=True)
        assert brief(results) == expected
        [wrong] = [result for result in results if "error" in result]
        assert issue_of(wrong) == ("ends_at", "end_before_start")
    assert {link_id: await link_of(world, user, link_id) for link_id in ids} == before
    version = await version_of(world, account)
    results = await change(world, session, ids, {"ends_at": SECOND}, add_tags=["x"])
    assert brief(results) == ends_first
    assert await version_of(world, account) == version + 1
    assert await link_of(world, user, late) == before[late]
    changed = [await link_of(world, user, link_id) for link_id in (free, early)]
    assert [(iso(link.ends_at or 0), link.tags) for link in changed] == [(SECOND, ("x",))] * 2
    # `free` and `early` now end on the second day, `late` starts on the third.
    [equal, *_] = await change(world, session, [free], {"starts_at": SECOND})
    assert issue_of(equal) == ("ends_at", "end_before_start")
    results = await change(world, session, ids, {"starts_at": THIRD, "ends_at": FIRST})
    assert [issue_of(each) for each in results] == [("ends_at", "end_before_start")] * 3
    assert all(each["changed"] for each in await change(world, session, ids, {"starts_at": "", "ends_at": FIRST}))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"after_url": "https://go.example.com/over"}, "after_url"),
        ({"split": [{**SPLIT[0], "url": "https://go.example.com/b"}, SPLIT[1]]}, "split.0.url"),
        ({"rules": [*RULES, {"url": "https://go.example.com/", "devices": ["mobile"]}]}, "rules.1.url"),
    ],
)
async def test_targets_on_the_link_host_of_one_account_are_rejected_only_there(world, fields, path):
    user, session, account = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="to.example.com")
    ids = [await add(world, account, "one"), await add(world, other, "two")]
    before = await link_of(world, user, ids[0])
    first, second = await change(world, session, ids, fields)
    assert issue_of(first) == (path, "on_link_host")
    assert second["changed"]
    assert await link_of(world, user, ids[0]) == before


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"split": SPLIT[:1]}, "set.split"),
        ({"split": [SPLIT[0], SPLIT[0]]}, "set.split"),
        ({"split": [*SPLIT, *SPLIT, *SPLIT, *SPLIT, *SPLIT, *SPLIT]}, "set.split"),
        ({"after_url": "http://over.example/"}, "set.after_url"),
        ({"starts_at": "tomorrow"}, "set.starts_at"),
        ({"ends_at": "2100-01-01T00:00:00Z"}, "set.ends_at"),
        ({"forward_query": "yes"}, "set.forward_query"),
        ({"rules": [{"url": "https://m.example/", "os": ["BeOS"]}]}, "set.rules.0.os.0"),
        ({"code": "other"}, "set.code"),
    ],
)
async def test_invalid_options_reject_the_whole_request(world, fields, path):
    user, session, account = await world.ready()
    link_id = await add(world, account, "one")
    before = await link_of(world, user, link_id)
    body = {"filter": {}, "set": {"title": "New", **fields}}
    refused = await world.call("PATCH", PATH, body, headers=session)
    is_error(refused, 400, "invalid_request")
    assert refused.body["error"]["details"]["issues"][0]["path"] == path
    assert await link_of(world, user, link_id) == before
