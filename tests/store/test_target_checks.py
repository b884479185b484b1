"""The targets of links are requested at most once a week. A target is broken if two requests in a row fail."""

from __future__ import annotations

import json
from typing import Any

import pytest

from svc.clock import DAY_MS, HOUR_MS, day_of
from svc.model import BrokenTarget, Rule, Variant
from svc.store import broken_targets, links, moderation, target_checks
from svc.store.link_lists import LinkFilter, list_links
from svc.store.target_checks import CONFIRM_MS, PERIOD_MS
from svc.store.tx import Tx, sql
from tests.clock import START_MS
from tests.store.direct_changes import confirm_address
from tests.store.makers import a_link, an_account, new_link, owner_of

pytestmark = pytest.mark.rule("Y18")

NOW = START_MS
URL = "https://shop.example.com/sale"
OTHER = "https://other.example/"
# A time between the two requests of `broken`.
LATER = NOW + CONFIRM_MS + HOUR_MS


def immediately(_: str) -> int:
    return 0


def after_a_day(_: str) -> int:
    return DAY_MS


def listed(now: int = NOW) -> Tx[None]:
    while (yield from target_checks.list_targets(now, immediately)):
        pass


def due_urls(now: int = NOW) -> Tx[list[str]]:
    return sorted(check.url for check in (yield from target_checks.due(now, 1_000)))


def request(url: str, problem: Any, now: int, took_ms: int = 0) -> Tx[bool | None]:
    """Request the URL if its request is due, and return the result of `record`. Return None if no request is due."""
    found = [check for check in (yield from target_checks.due(now, 1_000)) if check.url == url]
    if not found or not (yield from target_checks.claim(found[0], now)):
        return None
    return (yield from target_checks.record(found[0], now, problem, now + took_ms))


def broken(url: str = URL, problem: Any = "http_404") -> Tx[None]:
    """Record all links' targets, and request this URL twice. Both requests find this problem."""
    yield from listed()
    assert (yield from request(url, problem, NOW)) is False
    assert (yield from request(url, problem, LATER)) is True


def of_link(link_id: str) -> Tx[tuple[BrokenTarget, ...]]:
    rows = yield sql("select * from links where id = $1", link_id)
    [link] = yield from broken_targets.with_broken_targets([links.link_of(rows[0])])
    return link.broken_targets


def filtered(user_id: int) -> Tx[list[str]]:
    return [link.id for link in (yield from list_links(LinkFilter(user_id, broken=True)))]


async def test_targets_of_a_new_link_are_listed_once(store):
    account_id = await store.run(an_account())
    rules = (Rule(OTHER, ("DE",)), Rule(f"{URL}#part"))
    link_id = await store.run(a_link(account_id, url=URL, rules=rules))
    assert await store.run(target_checks.list_targets(NOW, after_a_day)) == 1
    assert await store.run(target_checks.list_targets(NOW, after_a_day)) == 0
    assert await store.read(due_urls(NOW + DAY_MS - 1)) == []
    # URLs that differ only in their fragment need only one request.
    assert await store.read(due_urls(NOW + DAY_MS)) == [OTHER, URL]
    # If another link gets the same URL, the time of the next request does not change.
    await store.run(a_link(account_id, "other", url=URL))
    await store.run(listed(NOW + HOUR_MS))
    assert await store.read(due_urls(NOW + HOUR_MS)) == []
    assert link_id


async def test_many_links_with_the_same_url_are_one_request(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    batch = [new_link(user_id, account_id, f"code{n}") for n in range(450)]
    await store.run(links.add_links(batch, 1_000))
    await store.run(listed())
    assert await store.read(due_urls()) == [URL]


async def test_target_is_broken_after_two_requests_a_day_apart(store):
    account_id = await store.run(an_account())
    link_id = await store.run(a_link(account_id))
    await store.run(listed())
    assert await store.run(request(URL, "http_404", NOW, took_ms=5_000)) is False
    assert await store.read(of_link(link_id)) == ()
    # The second request is due a day after the first request has ended.
    assert await store.run(request(URL, "http_410", NOW + CONFIRM_MS + 4_999)) is None
    second = NOW + CONFIRM_MS + 5_000
    assert await store.run(request(URL, "http_410", second)) is True
    assert await store.read(of_link(link_id)) == (BrokenTarget(URL, "http_410", NOW, second),)
    # After that, the URL is requested weekly.
    assert await store.run(request(URL, "http_404", second + PERIOD_MS - 1)) is None
    third = second + PERIOD_MS
    assert await store.run(request(URL, "http_404", third)) is False
    assert await store.read(of_link(link_id)) == (BrokenTarget(URL, "http_404", NOW, third),)
    assert await store.run(request(URL, None, third + PERIOD_MS)) is False
    assert await store.read(of_link(link_id)) == ()


async def test_success_between_two_problems_restarts_the_day(store):
    account_id = await store.run(an_account())
    link_id = await store.run(a_link(account_id))
    await store.run(listed())
    assert await store.run(request(URL, "http_404", NOW)) is False
    assert await store.run(request(URL, None, LATER)) is False
    again = LATER + PERIOD_MS
    assert await store.run(request(URL, "http_404", again)) is False
    assert await store.read(of_link(link_id)) == ()
    assert await store.run(request(URL, "http_404", again + CONFIRM_MS)) is True


async def test_claimed_request_is_not_repeated_if_the_process_dies(store):
    account_id = await store.run(an_account())
    await store.run(a_link(account_id))
    await store.run(listed())
    [check] = await store.read(target_checks.due(NOW, 10))
    assert await store.run(target_checks.claim(check, NOW)) is True
    assert await store.run(target_checks.claim(check, NOW)) is False  # a second process does not get the same check
    assert await store.read(due_urls(NOW + PERIOD_MS - 1)) == []
    assert await store.read(due_urls(NOW + PERIOD_MS)) == [URL]


async def test_late_result_of_an_earlier_request_is_discarded(store):
    account_id = await store.run(an_account())
    link_id = await store.run(a_link(account_id))
    await store.run(broken())
    [check] = await store.read(target_checks.due(LATER + PERIOD_MS, 10))
    assert await store.run(target_checks.claim(check, LATER + PERIOD_MS))
    await store.run(target_checks.record(check, LATER, None, LATER + PERIOD_MS))
    assert len(await store.read(of_link(link_id))) == 1


async def test_changed_target_is_not_broken_anymore(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    link_id = await store.run(a_link(account_id, rules=(Rule(OTHER, ("DE",)),)))
    await store.run(broken())
    assert await store.read(filtered(user_id)) == [link_id]
    assert await store.read(broken_targets.count_links(user_id)) == 1
    kept = broken_targets.with_broken_target(links.change_link(account_id, link_id, {"rules": (Rule(OTHER, ("FR",)),)}))
    assert [each.url for each in (await store.run(kept)).broken_targets] == [URL]
    changed = broken_targets.with_broken_target(links.change_link(account_id, link_id, {"url": OTHER}))
    assert (await store.run(changed)).broken_targets == ()
    assert await store.read(of_link(link_id)) == ()
    assert await store.read(filtered(user_id)) == []
    assert await store.read(broken_targets.count_links(user_id)) == 0
    await store.run(listed(LATER))
    assert await store.read(filtered(user_id)) == []
    # No link uses the old URL any more, so it is deleted.
    assert [row["url"] for row in await store.read(all_urls())] == [OTHER]


def all_urls() -> Tx[Any]:
    return (yield sql("select url from target_checks order by url"))


@pytest.mark.parametrize("what", ["deleted", "disabled", "user disabled", "disconnected"])
async def test_unreachable_target_is_not_requested(store, what):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    link_id = await store.run(a_link(account_id))
    await store.run(broken())
    if what == "deleted":
        await store.run(links.delete_link(account_id, link_id, START_MS))
    elif what == "disabled":
        [target] = await store.read(moderation.with_id("link", link_id))
        await store.run(moderation.disable(target, "phishing", LATER))
    elif what == "user disabled":
        await store.run(sql_of("update users set disabled_at = $2 where id = $1", user_id, LATER))
    else:
        await store.run(sql_of("update links set state = 'deleted' where account_id = $1", account_id))
    if what != "user disabled":
        assert await store.read(of_link(link_id)) == ()
        assert await store.read(filtered(user_id)) == []
    assert await store.run(request(URL, None, LATER + PERIOD_MS)) is None
    kept = await store.read(all_urls())
    assert len(kept) == (0 if what in ("deleted", "disconnected") else 1)
    assert await store.read(due_urls(LATER + PERIOD_MS)) == []


def sql_of(text: str, *parameters: Any) -> Tx[None]:
    yield sql(text, *parameters)


async def test_deleted_link_is_forgotten_when_targets_are_listed(store):
    account_id = await store.run(an_account())
    link_id = await store.run(a_link(account_id))
    await store.run(listed())
    await store.run(links.delete_link(account_id, link_id, START_MS))
    await store.run(listed())
    assert await store.read(all_urls()) == []


async def test_clock_that_was_wrong(store):
    account_id = await store.run(an_account())
    await store.run(a_link(account_id))
    year = 365 * DAY_MS
    await store.run(listed(NOW + year))
    assert await store.run(request(URL, "http_404", NOW + year)) is False
    # Simulate a clock that is set back by a year.
    assert await store.read(target_checks.has_wrong_times(NOW))
    assert await store.run(target_checks.correct_times(NOW, after_a_day, 10)) == 1
    assert not await store.read(target_checks.has_wrong_times(NOW))
    assert await store.run(request(URL, "http_404", NOW + DAY_MS)) is False
    assert await store.run(request(URL, "http_404", NOW + 2 * DAY_MS)) is True


async def test_times_are_not_wrong_after_a_small_correction(store):
    account_id = await store.run(an_account())
    await store.run(a_link(account_id))
    await store.run(listed())
    assert await store.run(request(URL, None, NOW)) is False
    assert not await store.read(target_checks.has_wrong_times(NOW - HOUR_MS))


async def test_confirmations_restart_after_the_clock_was_set(store):
    account_id = await store.run(an_account())
    await store.run(a_link(account_id))
    await store.run(a_link(account_id, "other", url=OTHER))
    await store.run(broken(OTHER))
    assert await store.run(request(URL, "http_404", LATER)) is False
    await store.run(target_checks.restart_confirmations(LATER + 5))
    assert await store.run(request(URL, "http_404", LATER + CONFIRM_MS)) is None
    again = LATER + 5 + CONFIRM_MS
    assert await store.run(request(URL, "http_404", again)) is False
    assert await store.run(request(URL, "http_404", again + CONFIRM_MS)) is True


async def test_no_problem_is_shown_once_the_operator_turned_the_requests_off(store):
    account_id = await store.run(an_account())
    user_id = await store.read(owner_of(account_id))
    link_id = await store.run(a_link(account_id))
    await store.run(broken())
    await store.run(target_checks.forget_results())
    assert await store.read(of_link(link_id)) == ()
    assert await store.read(filtered(user_id)) == []
    assert await store.read(broken_targets.users_to_notify(day_of(LATER))) == []


def confirmed_user(account_id: str) -> Tx[int]:
    user_id = yield from owner_of(account_id)
    yield from confirm_address(user_id)
    return user_id


def emails() -> Tx[list[Any]]:
    rows = yield sql("select user_id, facts from outbox where kind = 'broken_targets' order by created_at, id")
    return [(row["user_id"], json.loads(row["facts"])) for row in rows]


async def test_one_email_a_day_lists_the_new_problems(store):
    account_id = await store.run(an_account())
    user_id = await store.run(confirmed_user(account_id))
    for n in range(3):
        await store.run(a_link(account_id, f"code{n}", url=f"https://{n}.example/"))
    await store.run(broken("https://0.example/"))
    await store.run(broken("https://1.example/"))
    today = day_of(LATER)
    assert await store.read(broken_targets.users_to_notify(today)) == [user_id]
    assert await store.run(broken_targets.notify(user_id, today, LATER)) == 2
    assert await store.run(broken_targets.notify(user_id, today, LATER)) == 0
    await store.run(broken("https://2.example/"))
    assert await store.read(broken_targets.users_to_notify(today)) == []
    assert await store.read(broken_targets.users_to_notify(today + 1)) == [user_id]
    assert await store.run(broken_targets.notify(user_id, today + 1, LATER + 1)) == 1
    [(owner, first), (_, second)] = await store.read(emails())
    assert (owner, len(first["targets"]), first["more"], len(second["targets"])) == (user_id, 2, 0, 1)
    found = await store.read(broken_targets.still_broken(first["targets"]))
    assert [(each.host, each.code, each.target.url) for each in found] == [
        ("go.example.com", f"code{n}", f"https://{n}.example/") for n in range(2)
    ]


async def test_link_with_a_url_that_is_known_to_be_broken_is_reported(store):
    account_id = await store.run(an_account())
    user_id = await store.run(confirmed_user(account_id))
    await store.run(a_link(account_id))
    await store.run(broken())
    await store.run(broken_targets.notify(user_id, day_of(LATER), LATER))
    other_account = await store.run(an_account())
    other_user = await store.run(confirmed_user(other_account))
    link_id = await store.run(a_link(other_account))
    await store.run(listed(LATER))
    assert await store.read(filtered(other_user)) == [link_id]
    assert await store.read(broken_targets.users_to_notify(day_of(LATER))) == [other_user]


async def test_problem_that_returns_is_reported_again(store):
    account_id = await store.run(an_account())
    user_id = await store.run(confirmed_user(account_id))
    await store.run(a_link(account_id))
    await store.run(broken())
    await store.run(broken_targets.notify(user_id, day_of(LATER), LATER))
    works = LATER + PERIOD_MS
    assert await store.run(request(URL, None, works)) is False
    [(_, facts)] = await store.read(emails())
    assert await store.read(broken_targets.still_broken(facts["targets"])) == []
    assert await store.run(request(URL, "http_404", works + PERIOD_MS)) is False
    end = works + PERIOD_MS + CONFIRM_MS
    assert await store.run(request(URL, "http_404", end)) is True
    assert await store.read(broken_targets.users_to_notify(day_of(end))) == [user_id]


@pytest.mark.parametrize(
    "change", ["notify = 0", "email_confirmed = 0", "email_refused_at = 1", "disabled_at = 1", "email = null"]
)
async def test_user_without_emails_is_not_notified_later_either(store, change):
    account_id = await store.run(an_account())
    user_id = await store.run(confirmed_user(account_id))
    await store.run(a_link(account_id))
    await store.run(broken())
    await store.run(sql_of(f"update users set {change} where id = $1", user_id))
    assert await store.run(broken_targets.notify(user_id, day_of(LATER), LATER)) == 0
    assert await store.read(emails()) == []
    assert await store.read(broken_targets.users_to_notify(day_of(LATER) + 1)) == []


async def test_long_email_lists_twenty_targets(store):
    account_id = await store.run(an_account())
    user_id = await store.run(confirmed_user(account_id))
    batch = [new_link(user_id, account_id, f"code{n}") for n in range(25)]
    await store.run(links.add_links(batch, 1_000))
    await store.run(broken())
    assert await store.run(broken_targets.notify(user_id, day_of(LATER), LATER)) == 25
    [(_, facts)] = await store.read(emails())
    assert (len(facts["targets"]), facts["more"]) == (20, 5)


async def test_accounts_of_an_api_key_are_counted_alone(store):
    account_id = await store.run(an_account(edge_account_id="a" * 32))
    user_id = await store.run(confirmed_user(account_id))
    await store.run(a_link(account_id))
    await store.run(broken())
    assert await store.read(broken_targets.count_links(user_id, ["a" * 32])) == 1
    assert await store.read(broken_targets.count_links(user_id, ["b" * 32])) == 0
    assert await store.read(broken_targets.count_links(user_id, [])) == 0


AFTER = "https://after.example/"
SPLIT = (Variant("https://a.example/", 50), Variant("https://b.example/", 50))


@pytest.mark.parametrize(
    ("fields", "urls"),
    [
        ({"split": SPLIT}, ["https://a.example/", "https://b.example/"]),
        ({"split": SPLIT, "rules": (Rule(URL, ("DE",)),)}, ["https://a.example/", "https://b.example/", URL]),
        ({"after_url": AFTER}, [URL]),
        ({"after_url": AFTER, "ends_at": NOW + 1}, [URL]),
        ({"after_url": AFTER, "ends_at": NOW, "rules": (Rule(OTHER, ("DE",)),)}, [AFTER]),
        ({"after_url": AFTER, "starts_at": NOW + 1}, [AFTER]),
        ({"after_url": AFTER, "starts_at": NOW, "split": SPLIT}, ["https://a.example/", "https://b.example/"]),
        ({"ends_at": NOW}, []),
        ({"starts_at": NOW + 1, "ends_at": NOW + 2}, []),
    ],
)
async def test_only_targets_that_visitors_can_reach_are_requested(store, fields, urls):
    account_id = await store.run(an_account())
    await store.run(a_link(account_id, **fields))
    await store.run(listed())
    assert await store.read(due_urls()) == urls


async def test_targets_are_listed_again_when_a_period_begins_and_ends(store):
    account_id = await store.run(an_account())
    start, end = NOW + HOUR_MS, NOW + 2 * HOUR_MS
    await store.run(a_link(account_id, after_url=AFTER, starts_at=start, ends_at=end))
    for now, url in ((NOW, AFTER), (start - 1, AFTER), (start, URL), (end - 1, URL), (end, AFTER), (end + 1, AFTER)):
        await store.run(listed(now))
        assert not await store.read(target_checks.has_unlisted(now))
        assert [row["url"] for row in await store.read(all_urls())] == [url]
    await store.run(a_link(account_id, "other"))  # no period
    await store.run(listed(end + 1))
    # Simulate a clock that was a day ahead.
    await store.run(target_checks.restart_confirmations(start))
    assert await store.run(target_checks.list_targets(start, immediately)) == 1
    assert [row["url"] for row in await store.read(all_urls())] == [URL]


async def test_broken_target_of_an_ended_link_is_not_reported(store):
    account_id = await store.run(an_account())
    user_id = await store.run(confirmed_user(account_id))
    link_id = await store.run(a_link(account_id, ends_at=LATER + 1))
    await store.run(broken())
    assert [each.url for each in await store.read(of_link(link_id))] == [URL]
    await store.run(listed(LATER + 1))
    assert await store.read(of_link(link_id)) == ()
    assert await store.read(filtered(user_id)) == []
    assert await store.read(broken_targets.count_links(user_id)) == 0
    assert await store.read(broken_targets.users_to_notify(day_of(LATER))) == []


async def test_url_that_a_split_replaces_is_not_broken_anymore(store):
    account_id = await store.run(an_account())
    link_id = await store.run(a_link(account_id))
    await store.run(broken())
    changed = broken_targets.with_broken_target(links.change_link(account_id, link_id, {"split": SPLIT}))
    assert (await store.run(changed)).broken_targets == ()
