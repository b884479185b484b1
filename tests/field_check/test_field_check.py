"""`svc field-check` as its operator runs it, against the emulated platform; and killed at each of its steps."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import tempfile
import zlib
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.harness.sampling import EVERYTHING, SEED
from edge_worker.programs import open_program, run_program
from svc.edge.tokens import WORKING_RIGHTS
from svc.field_check.table import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.programs import Fork

ROOT = Path(__file__).parents[2]
ROUTES = "/zones/*/workers/routes"
DATABASES = "*/d1/database"
# With a zone, and without using up the day: the lines before the table.
STEPS = 18
# The steps at which `make test` kills it, others each time.
KILLED_AT = range(1, STEPS + 1) if EVERYTHING else sorted(random.Random(SEED).sample(range(1, STEPS + 1), 3))


class Site:
    """A customer with a zone, and a folder where the command is run."""

    def __init__(self, emulator: Emulator, customer: Customer, zone: str, folder: Path) -> None:
        self.emulator, self.customer, self.zone, self.folder = emulator, customer, zone, folder

    @asynccontextmanager
    async def started(self, *more: str, zone: bool = True) -> AsyncIterator[trio.Process | Fork]:
        """The command, with the bootstrap token on its standard input."""
        command = ["-m", "svc", "field-check", self.customer.account_id, *more]
        if zone:
            command += ["--zone", self.zone, "--through", self.emulator.edge]
        environ = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        environ |= {"PYTHONPATH": str(ROOT), "SVC_EDGE_API_BASE_URL": self.emulator.api}
        with tempfile.TemporaryFile() as token:
            token.write(f"{self.customer.bootstrap_token}\n".encode())
            token.seek(0)
            process = await open_program(
                command, environ=environ, stdin=token.fileno(), stderr=subprocess.STDOUT, folder=self.folder
            )
        assert process.stdout is not None
        try:
            yield process
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
                await process.stdout.aclose()

    async def run(self, *more: str, zone: bool = True) -> tuple[int, list[str]]:
        """The command's exit status and lines, none of which may have a token."""
        async with self.started(*more, zone=zone) as process:
            lines = await told(process)
            status = await process.wait()
        text = "\n".join(lines)
        assert "cfat_" not in text
        assert self.customer.bootstrap_token not in text
        return status, lines

    async def is_empty(self, *own_tokens: str) -> bool:
        """Whether nothing is left at the platform but the user's own tokens, and nothing in the folder."""
        held = (await self.emulator.state())["accounts"][self.customer.account_id]
        left = [*held["scripts"], *held["databases"], *(r for z in held["zones"].values() for r in z["routes"])]
        tokens = held["tokens"].keys() - {self.customer.bootstrap_token_id, *own_tokens}
        return not left and not tokens and list((self.folder / "var").glob("*")) == []


async def told(process: trio.Process | Fork, count: int | None = None) -> list[str]:
    """The lines that it writes: all, or the first `count` of them."""
    assert process.stdout is not None
    text = b""
    while count is None or text.count(b"\n") < count:
        received = await process.stdout.receive_some(4096)
        if not received:
            break
        text += received
    return text.decode().splitlines()[:count]


def rows(lines: list[str]) -> dict[str, tuple[str, str]]:
    """Of the table: by number, how it fits, and what was answered or why it was not asked."""
    found = {}
    for line, after in itertools.pairwise(lines):
        for number in QUESTIONS:
            if line.endswith(QUESTIONS[number].asked):
                found[number] = (line.split()[0], after.split(": ", 1)[1])
    return found


@pytest.fixture
async def site(emulator: Emulator, request: pytest.FixtureRequest, tmp_path: Path) -> Site:
    zone = f"f{zlib.crc32(request.node.nodeid.encode())}.example"
    customer = await emulator.create_account([proxied_zone(zone)], limits={"rows_written": 12_000}, subdomain=zone[:-8])
    return Site(emulator, customer, zone, tmp_path)


@pytest.mark.rule("X8")
async def test_on_the_emulated_platform_everything_fits_and_nothing_is_left(site):
    await site.emulator.begin_at_noon()  # the day must not end while it is used up
    try:
        status, lines = await site.run("--use-up-the-day")
    finally:
        await site.emulator.call("POST", "/clock", {"offset_s": 0})
    assert rows(lines).keys() == QUESTIONS.keys()
    assert {fits for fits, _ in rows(lines).values()} == {"fits"}
    assert status == 0
    assert await site.is_empty()


async def test_without_a_zone_the_rest_is_asked(site):
    status, lines = await site.run(zone=False)
    asked = {number for number, (fits, _) in rows(lines).items() if fits != "--"}
    assert QUESTIONS.keys() - asked == {"0.8", "0.9", "job route", "job view", "job report"}
    assert status == 0
    assert await site.is_empty()


async def test_a_zone_that_is_not_there_is_told(site):
    site.zone = "elsewhere.example"
    status, lines = await site.run()
    assert rows(lines)["job route"] == ("--", "the account has no such active zone")
    assert status == 1
    assert await site.is_empty()


@pytest.mark.parametrize(
    ("fault", "number", "answer"),
    [
        (
            {"path": "*/d1/database", "method": "GET", "after": 1, "times": 3, "status": 403, "code": 10000},
            "0.5 right",
            "refused 403/10000",
        ),
        ({"path": "*/workers/subdomain", "status": 404, "code": 10007}, "0.3", "none, refused 404/10007"),
    ],
)
async def test_another_answer_that_the_service_is_built_for_fits(site, fault, number, answer):
    await site.emulator.fault("refuse", **fault)
    status, lines = await site.run(zone=False)
    fits, told_of = rows(lines)[number]
    assert (fits, told_of.split(" (")[0]) == ("fits", answer)
    assert status == 0
    assert await site.is_empty()


@pytest.mark.parametrize(("zone_gone", "answer"), [("invalid", "refused 400/1003"), ("unroutable", "refused 404/7003")])
async def test_a_zone_of_others_may_be_refused_in_any_known_way(site, zone_gone, answer):
    await site.emulator.set_rudeness(zone_gone=zone_gone)
    try:
        status, lines = await site.run(zone=False)
    finally:
        await site.emulator.set_rudeness(zone_gone="refused")
    fits, told_of = rows(lines)["0.7"]
    assert (fits, told_of.split(" (")[0]) == ("fits", answer)
    assert status == 0


async def test_routes_that_do_not_tell_what_they_do_past_the_limit_fit(site):
    await site.emulator.set_rudeness(ignores_fail_open=True)
    try:
        status, lines = await site.run()
    finally:
        await site.emulator.set_rudeness(ignores_fail_open=False)
    assert rows(lines)["0.8"] == ("fits", "not told")
    assert status == 0
    assert lines[STEPS - 1 : STEPS + 1] == ["removing everything", ""]


async def test_analytics_that_do_not_know_what_the_advice_asks_for_are_told(site):
    await site.emulator.fault("refuse", "/graphql", method="POST", status=400, code=7, message="unknown field")
    status, lines = await site.run(zone=False)
    assert rows(lines)["0.10"] == ("OTHER", "refused 400/7 (unknown field)")
    assert status == 1
    assert await site.is_empty()


async def test_an_answer_that_nobody_expects_is_shown_beside_the_emulated_ones(site):
    await site.emulator.fault("refuse", ROUTES, method="GET", status=418, code=7)
    status, lines = await site.run(zone=False)
    assert rows(lines)["0.7"][0] == "OTHER"
    assert any(line.strip() == "emulated: " + ", or ".join(QUESTIONS["0.7"].known) for line in lines)
    assert any(QUESTIONS["0.7"].decides in line for line in lines)
    assert status == 1
    assert await site.is_empty()


@pytest.mark.parametrize(("minting", "answer"), [("held", "refused 400/1001"), ("silent", "with fewer rights")])
async def test_where_a_token_cannot_give_what_it_lacks_one_that_holds_it_is_needed(site, minting, answer):
    await site.emulator.set_rudeness(minting=minting)
    try:
        status, lines = await site.run()
        fits, told_of = rows(lines)["0.1"]
        assert (fits, told_of.split(" (")[0]) == ("fits", answer)
        assert rows(lines)["job worker"] == ("--", "not reached")
        assert status == 1
        assert await site.is_empty()

        rights = ["Account Settings Read", "Account API Tokens Write", *(right.name for right in WORKING_RIGHTS)]
        token_id, value = await site.emulator.create_token(site.customer.account_id, rights=rights)
        site.customer = replace(site.customer, bootstrap_token=value)
        status, lines = await site.run()
        assert rows(lines)["0.1"] == ("fits", "with all rights")
        assert status == 0
        assert await site.is_empty(token_id)
    finally:
        await site.emulator.set_rudeness(minting="all_zones")


async def test_an_account_that_never_used_workers_gets_its_name_there(emulator, site):
    site.customer = await emulator.create_account([])
    status, lines = await site.run(zone=False)
    assert rows(lines)["0.3"][1].startswith("none, refused 404/")
    assert rows(lines)["job worker"] == ("fits", "yes")
    assert status == 0
    assert await site.is_empty()


async def test_what_could_not_be_removed_is_removed_at_the_next_start(site):
    await site.emulator.fault("refuse", "*/d1/database/*", method="DELETE", times=None, status=400, code=1)
    status, lines = await site.run(zone=False)
    assert rows(lines)["job removal"][0] == "OTHER"
    assert status == 1
    assert not await site.is_empty()
    await site.emulator.clear_faults()
    status, lines = await site.run(zone=False)
    assert lines[0].startswith("removing what an earlier run left (svc-field-check-")
    assert status == 0
    assert await site.is_empty()


@pytest.mark.rule("X8")
@pytest.mark.parametrize("step", KILLED_AT)
async def test_killed_at_any_step_it_leaves_nothing_after_the_next_start(site, step):
    async with site.started() as process:
        assert len(await told(process, step)) == step
        process.kill()
        await process.wait()
    for trace in (site.folder / "var").glob("*"):
        assert "cfat_" not in trace.read_text()
        assert json.loads(trace.read_text())["name"].startswith("svc-field-check-")
    status, left = await site.run("--only-remove", zone=False)
    assert (status, left[-1]) == (0, "nothing is left")
    assert await site.is_empty()


@pytest.mark.rule("X8")
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
async def test_ended_by_a_signal_it_removes_what_it_made(site, ends):
    async with site.started() as process:
        await told(process, 11)  # the database is made
        process.send_signal(ends)
        rest = await told(process)
        assert await process.wait() == 1
    assert "removing everything" in rest
    assert await site.is_empty()


async def test_a_token_that_is_none_is_told_and_nothing_is_made(site):
    site.customer = replace(site.customer, bootstrap_token="cf_nonsense")
    status, lines = await site.run(zone=False)
    assert status == 1
    assert any(line.startswith("it ends here: ") for line in lines)


async def test_an_account_that_is_none_is_refused(tmp_path):
    answer = await run_program(["-m", "svc", "field-check", "../elsewhere"], folder=tmp_path)
    assert answer.returncode == 2
    assert b"32 hexadecimal digits" in answer.stderr
