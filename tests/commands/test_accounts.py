"""`svc account`: list and show accounts, and reject wrong uses of `disconnect`. `tests/journeys` tests disconnects."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.ids import new_id
from svc.remaining_resource import RemainingResource
from svc.store import disconnects, open_store
from svc.store.engines.sqlite.place import lock
from svc.store.tx import sql
from tests.clock import START_MS
from tests.command_runs import svc
from tests.commands.test_commands import make_account, store_of

if TYPE_CHECKING:
    from pathlib import Path

    from svc.store.tx import Tx

LEFT = RemainingResource("worker", "changed", {"worker": "svc-edge"})


def run(folder: Path, tx: Tx[Any]) -> Any:
    async def running() -> Any:
        async with open_store(store_of(folder)) as store:
            return await store.run(tx)

    return trio.run(running)


def disconnected(account_id: str) -> Tx[None]:
    operation = yield from disconnects.begin_disconnect(account_id, new_id("op"), START_MS)
    yield from disconnects.end_disconnect(operation, "svc-op_old", [LEFT], START_MS)


def listed(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in svc(folder, "account", "list", "--json", *arguments).stdout.splitlines()]


def test_list_and_show_print_connected_and_disconnected_accounts(tmp_path):
    kept, gone = make_account(tmp_path, site="shop.example.com"), make_account(tmp_path)
    run(tmp_path, disconnected(gone))
    [connected] = listed(tmp_path)
    assert (connected["id"], connected["state"], connected["sites"], connected["disconnecting"]) == (
        kept,
        "pending",
        1,
        False,
    )
    [former] = listed(tmp_path, "--disconnected")
    assert (former["id"], former["by_operator"], former["revoke_token"]) == (gone, False, "svc-op_old")
    assert former["left"] == ["Worker svc-edge: it was changed outside the service."]
    for one in (connected, former):
        for name in ("id", "edge_account_id"):
            shown = svc(tmp_path, "account", "show", one[name], "--json")
            assert json.loads(shown.stdout) == one
    table = svc(tmp_path, "account", "list", "--disconnected").stdout.splitlines()
    assert re.split(r"\s+", table[0]) == ["id", "Cloudflare", "account", "disconnected", "remaining", "user", "name"]
    assert re.split(r"\s+", table[1])[3] == "1"
    text = svc(tmp_path, "account", "show", gone).stdout
    assert "revoke_token:     svc-op_old\n" in text
    assert "remaining:        Worker svc-edge: it was changed outside the service.\n" in text
    # Repeating the command prints the result again, even without a running service and without a confirmation.
    again = svc(tmp_path, "account", "disconnect", gone)
    assert again.returncode == 0
    assert "  - Worker svc-edge: it was changed outside the service.\n  - API token svc-op_old: " in again.stdout


def test_list_selects_accounts(tmp_path):
    first, second = make_account(tmp_path), make_account(tmp_path)
    run(tmp_path, renamed(second, "100% _Läden\x1b[2J"))
    one, other = listed(tmp_path)
    for arguments, expected in (
        ((), [first, second]),
        (("--sort", "newest"), [second, first]),
        (("--user", other["user"].upper()), [second]),
        (("--contains", "_lä"), [second]),  # ids have ASCII letters only
        (("--contains", "%"), [second]),
        (("--contains", one["edge_account_id"].upper()), [first]),
        (("--contains", other["user"]), [second]),
        (("--contains", "nothing"), []),
        (("--state", "pending"), [first, second]),
        (("--state", "ready"), []),
        (("--disconnected",), []),
    ):
        assert [found["id"] for found in listed(tmp_path, *arguments)] == expected, arguments
    assert "\x1b" not in svc(tmp_path, "account", "list").stdout
    assert svc(tmp_path, "account", "list", "--state", "ready", "--disconnected").returncode == 2


def renamed(account_id: str, name: str) -> Tx[None]:
    yield sql("update accounts set name = $2, created_at = created_at + 1 where id = $1", account_id, name)


def test_list_has_all_accounts_of_a_large_store(tmp_path):
    make_account(tmp_path)
    run(tmp_path, many(2_500))
    for order in ("oldest", "newest"):
        found = [one["id"] for one in listed(tmp_path, "--sort", order)]
        assert len(set(found)) == len(found) == 2_501


def many(number: int) -> Tx[None]:
    yield sql(
        "insert into accounts (id, user_id, edge_account_id, name, state, config_version, synced_version, created_at)"
        " with recursive n(i) as (select 1 union all select i + 1 from n where i < cast($1 as bigint))"
        " select 'acc_' || i, (select min(id) from users), 'edge' || i, 'Shop', 'connected', 1, 1, i / 3 from n",
        number,
    )


def test_unknown_account_is_an_error(tmp_path):
    make_account(tmp_path)
    for command in ("show", "disconnect"):
        ended = svc(tmp_path, "account", command, "acc_\x1b[2J")
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr == "svc: account acc_\ufffd[2J does not exist\n"


@pytest.mark.parametrize("arguments", [(), ("acc_x", "--all")])
def test_disconnect_needs_one_account_or_all(tmp_path, arguments):
    assert svc(tmp_path, "account", "disconnect", *arguments).returncode == 2


def test_disconnect_without_a_service_is_refused(tmp_path):
    account_id = make_account(tmp_path)
    for which in (account_id, "--all"):
        ended = svc(tmp_path, "account", "disconnect", which, "--yes")
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.startswith("svc: the service is not running; start it with svc serve")
    assert [one["disconnecting"] for one in listed(tmp_path)] == [False]


def test_disconnect_needs_the_typed_confirmation(tmp_path):
    account_id = make_account(tmp_path, site="shop.example.com")
    make_account(tmp_path)
    with lock(tmp_path / "var/svc.db"):  # lock the store, as a running service does
        one = svc(tmp_path, "account", "disconnect", account_id, text="yes\n")
        assert (one.returncode, one.stderr) == (1, "svc: nothing was disconnected\n")
        assert "with 1 site and 0 links. It cannot be undone.\nType the account ID to continue: " in one.stdout
        for typed in ("disconnect 1 account\n", "yes\n", ""):
            every = svc(tmp_path, "account", "disconnect", "--all", text=typed)
            assert (every.returncode, every.stderr) == (1, "svc: nothing was disconnected\n")
        assert "removes the service from 2 Cloudflare accounts of 2 users." in every.stdout
        assert 'Type "disconnect 2 accounts" to continue: ' in every.stdout
    assert [found["disconnecting"] for found in listed(tmp_path)] == [False, False]


def test_no_account_to_disconnect_is_not_an_error(tmp_path):
    run(tmp_path, disconnected(make_account(tmp_path)))
    ended = svc(tmp_path, "account", "disconnect", "--all")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "no account is connected\n", "")
