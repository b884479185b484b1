"""`svc user`: list and show users, and change their access."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

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


def test_access_can_be_taken_and_given_back(tmp_path):
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
    assert (sent.returncode, sent.stdout) == (0, "the running service sends the email\n")
    assert history_of(tmp_path, "ann@example.com") == [("operator", "password.link")] * 2


def test_unknown_user_is_an_error(tmp_path):
    make_users(tmp_path, "ann@example.com")
    for command in ("show", "confirm", "disable", "enable", "reset-password"):
        ended = svc(tmp_path, "user", command, "bob\x1b[2J@example.com")
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == "svc: user bob\ufffd[2J@example.com does not exist\n"
