"""`svc link` and `svc site`: disable and enable objects of users."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import trio

from svc.store import links, open_store
from tests.clock import START_MS
from tests.command_runs import svc
from tests.commands.test_commands import make_account, store_of
from tests.store.makers import a_link, a_site

if TYPE_CHECKING:
    from pathlib import Path


def make_link(folder: Path, account_id: str, code: str = "sale26") -> str:
    async def make() -> str:
        async with open_store(store_of(folder)) as store:
            return await store.run(a_link(account_id, code))

    return trio.run(make)


def make_site(folder: Path, account_id: str, host: str) -> str:
    async def make() -> str:
        async with open_store(store_of(folder)) as store:
            return await store.run(a_site(account_id, host))

    return trio.run(make)


def delete_link(folder: Path, account_id: str, link_id: str) -> None:
    async def delete() -> None:
        async with open_store(store_of(folder)) as store:
            await store.run(links.delete_link(account_id, link_id, START_MS))

    trio.run(delete)


@pytest.mark.parametrize(
    "name",
    ["https://go.example.com/sale26", "go.example.com/sale26", "HTTPS://GO.example.com/sale26/?q#x", "the id"],
)
def test_link_is_disabled_and_enabled_by_its_id_or_short_url(tmp_path, name):
    link_id = make_link(tmp_path, make_account(tmp_path))
    name = link_id if name == "the id" else name
    disabled = svc(tmp_path, "link", "disable", name, "--reason", " Phishing ")
    assert (disabled.returncode, disabled.stdout) == (0, f"link go.example.com/sale26 ({link_id}) is disabled\n")
    assert "no service is running; the Worker will get the change when the service starts" in disabled.stderr
    again = svc(tmp_path, "link", "disable", name, "--reason", "Spam")
    assert (again.returncode, again.stdout) == (
        0,
        f"link go.example.com/sale26 ({link_id}) is already disabled: Phishing\n",
    )
    enabled = svc(tmp_path, "link", "enable", name)
    assert (enabled.returncode, enabled.stdout) == (0, f"link go.example.com/sale26 ({link_id}) is enabled\n")
    assert svc(tmp_path, "link", "enable", name).stdout.endswith(") is not disabled\n")


def test_result_as_json(tmp_path):
    account_id = make_account(tmp_path)
    link_id = make_link(tmp_path, account_id)
    done = json.loads(svc(tmp_path, "link", "disable", link_id, "--reason", "Spam", "--json").stdout)
    assert done["disabled"].pop("at")
    assert done.pop("owner").endswith("@example.com")
    assert done == {
        "id": link_id,
        "name": "go.example.com/sale26",
        "account_id": account_id,
        "deleted": False,
        "disabled": {"reason": "Spam"},
        "changed": True,
    }


def test_site_is_named_by_its_host_unless_several_sites_have_it(tmp_path):
    first = make_account(tmp_path)
    site_id = make_site(tmp_path, first, "xn--mnchen-3ya.example")
    done = svc(tmp_path, "site", "disable", "https://M\u00fcnchen.example/", "--reason", "Spam")
    assert (done.returncode, done.stdout) == (0, f"site xn--mnchen-3ya.example ({site_id}) is disabled\n"), done
    other = make_site(tmp_path, make_account(tmp_path), "xn--mnchen-3ya.example")
    refused = svc(tmp_path, "site", "disable", "xn--mnchen-3ya.example", "--reason", "Spam")
    assert refused.returncode == 1
    assert "names several sites; use one of their IDs" in refused.stderr
    assert {site_id, other} <= set(refused.stderr.split())
    assert svc(tmp_path, "site", "enable", other).stdout == f"site xn--mnchen-3ya.example ({other}) is not disabled\n"


def test_code_of_a_deleted_disabled_link_is_freed(tmp_path):
    account_id = make_account(tmp_path)
    link_id = make_link(tmp_path, account_id)
    assert svc(tmp_path, "link", "disable", link_id, "--reason", "Spam").returncode == 0
    delete_link(tmp_path, account_id, link_id)
    refused = svc(tmp_path, "link", "disable", "go.example.com/sale26", "--reason", "Spam")
    assert (refused.returncode, refused.stderr) == (
        1,
        "svc: link go.example.com/sale26 was deleted, and is disabled\n",
    )
    enabled = svc(tmp_path, "link", "enable", "go.example.com/sale26")
    assert (enabled.returncode, enabled.stdout, enabled.stderr) == (
        0,
        f"link go.example.com/sale26 ({link_id}) is enabled\n",
        "",
    )
    make_link(tmp_path, account_id)


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("", "must not be empty"),
        (" \t", "must not be empty"),
        ("x" * 501, "must have at most 500 characters, but has 501"),
        ("a\nb", "must not contain line breaks or control characters"),
        ("a\x1b[2Jb", "must not contain line breaks or control characters"),
        ("a\u202eb", "must not contain line breaks or control characters"),
    ],
)
def test_reason_must_be_one_short_printable_line(tmp_path, reason, message):
    refused = svc(tmp_path, "link", "disable", "lnk_a", "--reason", reason)
    assert refused.returncode == 2
    assert message in refused.stderr


def test_unknown_targets_and_ids_of_other_kinds_do_not_exist(tmp_path):
    account_id = make_account(tmp_path, site="shop.example.com")
    link_id = make_link(tmp_path, account_id)
    site_id = make_site(tmp_path, account_id, "www.example.com")
    for kind, name in (
        ("link", site_id),
        ("link", account_id),
        ("link", "lnk_unknown"),
        ("link", "go.example.com"),
        ("link", "go.example.com/"),
        ("link", "go.example.com/SALE26"),
        ("link", "go.example.com/sale26/more"),
        ("link", "shop.example.com/sale26"),
        ("link", "%"),
        ("link", ""),
        ("site", link_id),
        ("site", "shop.example.com/page"),
        ("site", "example.com"),
        ("site", "a..\u00fc\u202e\x1b[2J"),
        ("site", "\u00fc" * 5_000),
    ):
        for action in (("disable", "--reason", "Spam"), ("enable",)):
            refused = svc(tmp_path, kind, action[0], name, *action[1:])
            assert refused.returncode == 1, (kind, name)
            assert f"svc: {kind} " in refused.stderr
            assert "does not exist" in refused.stderr, (kind, name, refused.stderr)
            assert "\x1b" not in refused.stderr
            assert "Traceback" not in refused.stderr
