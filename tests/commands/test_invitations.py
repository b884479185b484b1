"""Tests of `svc user invite`, `svc user invitations` and `svc user revoke-invitation`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
import trio

from svc.ids import digest
from svc.store import invitations, open_store, outbox
from tests.command_runs import svc
from tests.commands.test_commands import store_of
from tests.commands.test_users import make_users

if TYPE_CHECKING:
    from pathlib import Path
    from subprocess import CompletedProcess

    from svc.store.invitations import Invitation

GUEST = "guest@example.com"


def invite(folder: Path, *more: str, email: str = GUEST, mode: str = "invite") -> CompletedProcess[str]:
    return svc(folder, "user", "invite", email, *more, SVC_AUTH_SIGN_UP=mode)


def invitation_of(folder: Path, token: str) -> Invitation | None:
    async def find() -> Invitation | None:
        async with open_store(store_of(folder)) as store:
            return await store.read(invitations.find_invitation(digest(token), 0))

    return trio.run(find)


def queued(folder: Path) -> list[tuple[str, str, str | None]]:
    async def find() -> list[tuple[str, str, str | None]]:
        async with open_store(store_of(folder)) as store:
            found = await store.read(outbox.due(10**15, 10))
            return [(one.kind, one.address, one.language) for one in found]

    return trio.run(find)


def test_invitation_is_printed_listed_and_revoked(tmp_path):
    make_users(tmp_path, "ann@example.com")
    printed = invite(tmp_path, "--print").stdout
    found = re.fullmatch(
        r"https://svc\.example\.com/sign-up\?invitation=(svm_\S+)\n"
        r"The link works once, for guest@example\.com, until (\S+Z)\.\n",
        printed,
    )
    assert found is not None
    invitation = invitation_of(tmp_path, found[1])
    assert invitation is not None
    assert invitation.expires_at - invitation.created_at == 7 * 86_400_000
    listed = svc(tmp_path, "user", "invitations").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["email", GUEST]
    assert listed[1].endswith(found[2])
    as_json = json.loads(svc(tmp_path, "user", "invitations", "--json").stdout)
    assert (as_json["email"], as_json["expires_at"]) == (GUEST, found[2])
    assert found[1] not in svc(tmp_path, "user", "invitations", "--json").stdout
    assert json.loads(svc(tmp_path, "user", "revoke-invitation", "Guest@Example.com", "--json").stdout) == as_json
    again = svc(tmp_path, "user", "revoke-invitation", GUEST)
    assert (again.returncode, again.stderr) == (1, f"svc: there is no pending invitation for {GUEST}\n")
    assert invitation_of(tmp_path, found[1]) is None


def test_printed_invitation_without_public_url_works_on_this_host(tmp_path):
    make_users(tmp_path, "ann@example.com")
    settings = {"SVC_AUTH_SIGN_UP": "invite", "SVC_HTTP_BASE_URL": "", "SVC_HTTP_BIND": "[::]:8080"}
    ended = svc(tmp_path, "user", "invite", GUEST, "--print", **settings)
    assert ended.stdout.startswith("http://[::1]:8080/sign-up?invitation=svm_")


def test_invitation_is_sent_by_the_service(tmp_path):
    make_users(tmp_path, "ann@example.com")
    assert invite(tmp_path, "--language", "de", "--days", "30").stdout == "The running service will send the email.\n"
    assert queued(tmp_path) == [("invitation", GUEST, "de")]
    facts = json.loads(invite(tmp_path, "--print", "--json").stdout)
    assert (facts["email"], "/sign-up?invitation=svm_" in facts["url"]) == (GUEST, True)


@pytest.mark.parametrize(
    ("email", "mode", "more", "why"),
    [
        ("Ann@example.com", "invite", (), "svc: user ann@example.com already exists"),
        ("no address", "invite", (), "svc: email must be"),
        (GUEST, "closed", (), "svc: sign-up is closed"),
        (GUEST, "invite", ("--days", "0"), "must be a whole number from 1 to 365"),
        (GUEST, "invite", ("--days", "1e9"), "must be a whole number from 1 to 365"),
    ],
)
def test_refused_invitation_leaves_nothing(tmp_path, email, mode, more, why):
    make_users(tmp_path, "ann@example.com")
    refused = invite(tmp_path, *more, email=email, mode=mode)
    assert refused.returncode != 0
    assert why in refused.stderr
    assert svc(tmp_path, "user", "invitations", "--json").stdout == ""
