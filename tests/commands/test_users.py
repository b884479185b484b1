"""`svc user`: list and show users, and change their access."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.store import events, open_store, user_directory, users
from svc.store.tx import sql
from tests.command_runs import svc
from tests.commands.test_commands import make_account, store_of, user_of

if TYPE_CHECKING:
    from pathlib import Path

    from svc.store.tx import Tx


def make_users(folder: Path, *emails: str, confirmed: bool = True) -> None:
    async def make() -> None:
        async with open_store(store_of(folder)) as store:
            for email in emails:
                await store.run(users.add_user(email, "hash", 1, confirmed=confirmed))

    trio.run(make)


def history_of(folder: Path, email: str) -> list[tuple[str, str]]:
    """Return the (via, action) pairs in the user's history, oldest first."""

    def read() -> Tx[list[tuple[str, str]]]:
        [entry] = yield from user_directory.with_address(email)
        found, _ = yield from events.page(entry.user.id, "oldest", None, 100)
        return [(event.via, event.action) for event in found]

    async def find() -> list[tuple[str, str]]:
        async with open_store(store_of(folder)) as store:
            return await store.read(read())

    return trio.run(find)


def test_list_prints_a_table_or_json(tmp_path):
    make_users(tmp_path, "ann@example.com")
    make_users(tmp_path, "bob@example.org", confirmed=False)
    table = svc(tmp_path, "user", "list", "--sort", "newest").stdout.splitlines()
    assert [re.split(r"\s+", line)[:3] for line in table] == [
        ["email", "plan", "state"],
        ["bob@example.org", "free", "unconfirmed"],
        ["ann@example.com", "free", "active"],
    ]
    lines = svc(tmp_path, "user", "list", "--json", "--unconfirmed").stdout.splitlines()
    [only] = [json.loads(line) for line in lines]
    assert (only["email"], only["email_confirmed"], only["sites"]) == ("bob@example.org", False, 0)
    assert only["created_at"] == "1970-01-01T00:00:00.001Z"


def test_list_has_all_users_of_a_large_store(tmp_path):
    def many() -> Tx[None]:
        yield sql(
            "insert into users (email, password_hash, email_confirmed, plan, created_at)"
            " with recursive n(i) as (select 1 union all select i + 1 from n where i < 2500)"
            " select 'user' || i || '@example.com', 'hash', 1, 'free', i from n"
        )

    async def make() -> None:
        async with open_store(store_of(tmp_path)) as store:
            await store.run(many())

    trio.run(make)
    for order in ("oldest", "newest", "email"):
        lines = svc(tmp_path, "user", "list", "--json", "--sort", order).stdout.splitlines()
        found = [json.loads(line)["email"] for line in lines]
        assert sorted(found) == sorted({f"user{number}@example.com" for number in range(1, 2501)})


def test_show_prints_the_user_with_accounts(tmp_path):
    account_id = make_account(tmp_path, site="shop.example.com")
    email = json.loads(svc(tmp_path, "user", "list", "--json").stdout)["email"]
    shown = svc(tmp_path, "user", "show", email).stdout
    assert f"email:            {email}\n" in shown
    assert re.search(rf"^account: +{account_id}  [0-9a-f]{{32}}  \w+  Shop$", shown, re.MULTILINE)
    facts: dict[str, Any] = json.loads(svc(tmp_path, "user", "show", email, "--json").stdout)
    assert (facts["sites"], facts["accounts"][0]["name"]) == (1, "Shop")


def test_access_can_be_withdrawn_and_restored(tmp_path):
    make_users(tmp_path, "ann@example.com")
    for command, again in (
        ("disable", "user ann@example.com is already disabled\n"),
        ("enable", "user ann@example.com is not disabled\n"),
    ):
        first = svc(tmp_path, "user", command, "Ann@example.com")
        assert (first.returncode, first.stdout, first.stderr) == (0, "", "")
        assert svc(tmp_path, "user", command, "ann@example.com").stdout == again
    assert history_of(tmp_path, "ann@example.com") == [("operator", "user.disable"), ("operator", "user.enable")]


def test_operator_can_confirm_an_address(tmp_path):
    make_users(tmp_path, "ann@example.com", confirmed=False)
    assert svc(tmp_path, "user", "confirm", "ann@example.com").stdout == ""
    assert svc(tmp_path, "user", "confirm", "ann@example.com").stdout == "user ann@example.com is already confirmed\n"
    found = user_of(tmp_path, "ann@example.com")
    assert found is not None
    assert found[0].email_confirmed
    assert history_of(tmp_path, "ann@example.com") == [("operator", "user.confirm")]


def test_password_link_is_printed_or_sent(tmp_path):
    make_users(tmp_path, "ann@example.com")
    printed = svc(tmp_path, "user", "reset-password", "ann@example.com", "--print").stdout
    assert re.fullmatch(
        r"https://svc\.example\.com/reset\?token=svm_\S+\nThe link works once, within 24 hours\.\n", printed
    )
    sent = svc(tmp_path, "user", "reset-password", "ann@example.com")
    assert (sent.returncode, sent.stdout) == (0, "The running service will send the email.\n")
    assert history_of(tmp_path, "ann@example.com") == [("operator", "password.link")] * 2


def test_printed_link_without_public_url_works_on_this_host(tmp_path):
    make_users(tmp_path, "ann@example.com")
    reset = ("user", "reset-password", "ann@example.com", "--print")
    ended = svc(tmp_path, *reset, SVC_HTTP_BASE_URL="", SVC_HTTP_BIND="0.0.0.0:8080")
    assert ended.stdout.startswith("http://127.0.0.1:8080/reset?token=svm_")
    ended = svc(tmp_path, *reset, SVC_HTTP_BASE_URL="", SVC_HTTP_BIND="127.0.0.1:0")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "set [http] base_url" in ended.stderr
    assert history_of(tmp_path, "ann@example.com") == [("operator", "password.link")]


def test_unknown_user_is_an_error(tmp_path):
    make_users(tmp_path, "ann@example.com")
    for command in ("show", "confirm", "disable", "enable", "reset-password"):
        ended = svc(tmp_path, "user", command, "bob\x1b[2J@example.com")
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == "svc: user bob\ufffd[2J@example.com does not exist\n"


def test_limits_are_set_shown_and_removed(tmp_path):
    make_users(tmp_path, "ann@example.com")
    changed = svc(tmp_path, "user", "limits", "Ann@example.com", "sites=500", "links=20000", "keys=0")
    assert changed.stdout == "accounts: 10\nsites:    500\nlinks:    20000\nkeys:     0\n"
    facts = json.loads(svc(tmp_path, "user", "show", "ann@example.com", "--json").stdout)
    assert facts["limits"] == {"accounts": 10, "sites": 500, "links": 20_000, "keys": 0}
    assert facts["own_limits"] == ["sites", "links", "keys"]
    shown = svc(tmp_path, "user", "show", "ann@example.com").stdout
    assert (
        "limits:           accounts 10, sites 500 (set for this user), links 20000 (set for this user),"
        " keys 0 (set for this user)\n" in shown
    )
    assert svc(tmp_path, "user", "plan", "ann@example.com", "api").stdout == ""
    facts = json.loads(svc(tmp_path, "user", "limits", "ann@example.com", "keys=default", "links=7", "--json").stdout)
    assert facts["changed"] is True
    assert facts["limits"] == {"accounts": 10, "sites": 500, "links": 7, "keys": 5}
    same = json.loads(svc(tmp_path, "user", "limits", "ann@example.com", "--json").stdout)
    assert (same["changed"], same["limits"]) == (False, facts["limits"])
    actions = ["limits.change", "plan.change", "limits.change"]
    assert history_of(tmp_path, "ann@example.com") == [("operator", action) for action in actions]


@pytest.mark.parametrize(
    "change", ["sites", "sites=", "sites=-1", "sites=1.5", "sites=1e3", "sites=99999999999", "rows=5", "=5", "sites=٣"]
)
def test_invalid_limit_is_refused(tmp_path, change):
    make_users(tmp_path, "ann@example.com")
    refused = svc(tmp_path, "user", "limits", "ann@example.com", "links=5", change)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    assert history_of(tmp_path, "ann@example.com") == []


def test_limit_cannot_be_given_twice(tmp_path):
    make_users(tmp_path, "ann@example.com")
    refused = svc(tmp_path, "user", "limits", "ann@example.com", "sites=5", "sites=6")
    assert (refused.returncode, refused.stderr) == (1, "svc: each limit can be given only once\n")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("plan", "ann@example.com", "api"), {"changed": True}),
        (("plan", "ann@example.com", "free"), {"changed": False}),
        (("confirm", "ann@example.com"), {"changed": False}),
        (("disable", "ann@example.com"), {"changed": True}),
        (("enable", "ann@example.com"), {"changed": False}),
        (("reset-password", "ann@example.com"), {"changed": True}),
    ],
)
def test_commands_print_json(tmp_path, command, expected):
    make_users(tmp_path, "ann@example.com")
    facts = json.loads(svc(tmp_path, "user", *command, "--json").stdout)
    [user_id] = facts.pop("ids")
    assert facts == {"email": "ann@example.com", **expected}
    assert json.loads(svc(tmp_path, "user", "list", "--json").stdout)["id"] == user_id


def test_json_has_the_printed_link_and_the_added_user(tmp_path):
    added = svc(tmp_path, "user", "add", "ann@example.com", "--confirmed", "--json", text="a long password\n")
    assert json.loads(added.stdout)["email_confirmed"] is True
    facts = json.loads(svc(tmp_path, "user", "reset-password", "ann@example.com", "--print", "--json").stdout)
    assert (facts["hours"], "/reset?token=svm_" in facts["url"]) == (24, True)


@pytest.mark.parametrize("typed", ["", "yes\n", "other@example.com\n"])
def test_deletion_needs_the_typed_address(tmp_path, typed):
    make_users(tmp_path, "ann@example.com")
    refused = svc(tmp_path, "user", "delete", "ann@example.com", text=typed)
    assert (refused.returncode, refused.stderr) == (1, "svc: nothing was deleted\n")
    assert "ann@example.com with 0 connected accounts, 0 sites and 0 links" in refused.stdout
    assert user_of(tmp_path, "ann@example.com") is not None


def test_deletion_without_a_running_service_begins_at_its_start(tmp_path):
    make_users(tmp_path, "ann@example.com")
    deleted = svc(tmp_path, "user", "delete", "ann@example.com", text="Ann@Example.com\n")
    assert deleted.returncode == 0
    assert deleted.stdout.endswith("the service is not running; it will delete the user when it starts\n")
    assert user_of(tmp_path, "ann@example.com") is None
    gone = svc(tmp_path, "user", "delete", "ann@example.com", "--yes")
    assert (gone.returncode, gone.stderr) == (1, "svc: user ann@example.com does not exist\n")
