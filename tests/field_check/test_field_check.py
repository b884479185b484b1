"""Tests that run `svc field-check` against the emulated platform. Some tests kill the command at each of its steps."""

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
from svc.edge.tokens import WORKING_PERMISSIONS
from svc.field_check.table import QUESTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from edge_worker.emulator.client import Customer, Emulator
    from edge_worker.programs import Fork

ROOT = Path(__file__).parents[2]
ROUTES = "/zones/*/workers/routes"
DATABASES = "*/d1/database"
# The number of lines that the command prints before the table if the account has a zone and the run does not use up the
# day's quota.
STEPS = 20
# The steps at which the process is killed. `make test` uses a random sample.
KILLED_AT = range(1, STEPS + 1) if EVERYTHING else sorted(random.Random(SEED).sample(range(1, STEPS + 1), 3))


class Site:
    """A customer with a zone, and a working folder for the command."""

    def __init__(self, emulator: Emulator, customer: Customer, zone: str, folder: Path) -> None:
        self.emulator, self.customer, self.zone, self.folder = emulator, customer, zone, folder

    @asynccontextmanager
    async def started(self, *more: str, zone: bool = True) -> AsyncIterator[trio.Process | Fork]:
        """Start the command with the bootstrap token on standard input."""
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
        """Run the command. Return the exit status and the output lines, which must not contain a token."""
        async with self.started(*more, zone=zone) as process:
            lines = await output(process)
            status = await process.wait()
        text = "\n".join(lines)
        assert "cfat_" not in text
        assert self.customer.bootstrap_token not in text
        return status, lines

    async def is_empty(self, *own_tokens: str) -> bool:
        """Return True if the platform has only the user's tokens and no other resources, and the folder is empty."""
        held = (await self.emulator.state())["accounts"][self.customer.account_id]
        remaining = [*held["scripts"], *held["databases"], *(r for z in held["zones"].values() for r in z["routes"])]
        tokens = held["tokens"].keys() - {self.customer.bootstrap_token_id, *own_tokens}
        return not remaining and not tokens and list((self.folder / "var").glob("*")) == []


async def output(process: trio.Process | Fork, count: int | None = None) -> list[str]:
    """Return all output lines of a process, or the first `count` lines."""
    assert process.stdout is not None
    text = b""
    while count is None or text.count(b"\n") < count:
        received = await process.stdout.receive_some(4096)
        if not received:
            break
        text += received
    return text.decode().splitlines()[:count]


def rows(lines: list[str]) -> dict[str, tuple[str, str]]:
    """Parse the table. Return (mark, text) by question number. The text is the answer, or the reason for a skip."""
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
async def test_all_responses_of_emulated_platform_fit_and_no_resources_remain(site):
    await site.emulator.begin_at_noon()  # the day must not end during the test
    try:
        status, lines = await site.run("--use-up-the-day")
    finally:
        await site.emulator.call("POST", "/clock", {"offset_s": 0})
    assert rows(lines).keys() == QUESTIONS.keys()
    assert {fits for fits, _ in rows(lines).values()} == {"fits"}
    assert status == 0
    assert await site.is_empty()


async def test_other_questions_are_asked_without_zone(site):
    status, lines = await site.run(zone=False)
    asked = {number for number, (fits, _) in rows(lines).items() if fits != "--"}
    assert QUESTIONS.keys() - asked == {"0.8", "0.9", "job route", "job view", "job report"}
    assert status == 0
    assert await site.is_empty()


async def test_missing_zone_is_reported(site):
    site.zone = "elsewhere.example"
    status, lines = await site.run()
    assert rows(lines)["job route"] == ("--", "the account has no active zone with this name")
    assert status == 1
    assert await site.is_empty()


@pytest.mark.parametrize(
    ("fault", "number", "response"),
    [
        (
            {"path": "*/d1/database", "method": "GET", "after": 1, "times": 3, "status": 403, "code": 10000},
            "0.5 permission",
            "refused 403/10000",
        ),
        ({"path": "*/workers/subdomain", "status": 404, "code": 10007}, "0.3", "none, refused 404/10007"),
    ],
)
async def test_alternative_known_response_fits(site, fault, number, response):
    await site.emulator.fault("refuse", **fault)
    status, lines = await site.run(zone=False)
    fits, shown = rows(lines)[number]
    assert (fits, shown.split(" (")[0]) == ("fits", response)
    assert status == 0
    assert await site.is_empty()


@pytest.mark.parametrize(
    ("zone_gone", "response"), [("invalid", "refused 400/1003"), ("unroutable", "refused 404/7003")]
)
async def test_each_known_refusal_of_foreign_zone_fits(site, zone_gone, response):
    await site.emulator.set_failure_settings(zone_gone=zone_gone)
    try:
        status, lines = await site.run(zone=False)
    finally:
        await site.emulator.set_failure_settings(zone_gone="refused")
    fits, shown = rows(lines)["0.7"]
    assert (fits, shown.split(" (")[0]) == ("fits", response)
    assert status == 0


async def test_route_without_fail_open_field_fits(site):
    await site.emulator.set_failure_settings(ignores_fail_open=True)
    try:
        status, lines = await site.run()
    finally:
        await site.emulator.set_failure_settings(ignores_fail_open=False)
    assert rows(lines)["0.8"] == ("fits", "not reported")
    assert status == 0
    assert lines[STEPS - 1 : STEPS + 1] == ["remove all resources", ""]


async def test_refused_analytics_query_is_reported(site):
    await site.emulator.fault("refuse", "/graphql", method="POST", status=400, code=7, message="unknown field")
    status, lines = await site.run(zone=False)
    assert rows(lines)["0.10"] == ("OTHER", "refused 400/7 (unknown field)")
    assert rows(lines)["0.11"] == ("fits", "readable (0 days with views, 0 of them estimates)")
    assert status == 1
    assert await site.is_empty()


async def test_unexpected_response_is_shown_with_expected_ones(site):
    await site.emulator.fault("refuse", ROUTES, method="GET", status=418, code=7)
    status, lines = await site.run(zone=False)
    assert rows(lines)["0.7"][0] == "OTHER"
    assert any(line.strip() == "expected: " + ", or ".join(QUESTIONS["0.7"].known) for line in lines)
    assert any(QUESTIONS["0.7"].decides in line for line in lines)
    assert status == 1
    assert await site.is_empty()


@pytest.mark.parametrize(("minting", "response"), [("held", "refused 400/1001"), ("silent", "with fewer permissions")])
async def test_bootstrap_token_must_hold_permissions_that_it_cannot_otherwise_grant(site, minting, response):
    await site.emulator.set_failure_settings(minting=minting)
    try:
        status, lines = await site.run()
        fits, shown = rows(lines)["0.1"]
        assert (fits, shown.split(" (")[0]) == ("fits", response)
        assert rows(lines)["job worker"] == ("--", "not reached")
        assert status == 1
        assert await site.is_empty()

        rights = ["Account Settings Read", "Account API Tokens Write", *(right.name for right in WORKING_PERMISSIONS)]
        token_id, value = await site.emulator.create_token(site.customer.account_id, rights=rights)
        site.customer = replace(site.customer, bootstrap_token=value)
        status, lines = await site.run()
        assert rows(lines)["0.1"] == ("fits", "with all permissions")
        assert status == 0
        assert await site.is_empty(token_id)
    finally:
        await site.emulator.set_failure_settings(minting="all_zones")


async def test_account_without_workers_subdomain_gets_one(emulator, site):
    site.customer = await emulator.create_account([])
    status, lines = await site.run(zone=False)
    assert rows(lines)["0.3"][1].startswith("none, refused 404/")
    assert rows(lines)["job worker"] == ("fits", "yes")
    assert status == 0
    assert await site.is_empty()


async def test_remaining_resources_are_removed_by_next_run(site):
    await site.emulator.fault("refuse", "*/d1/database/*", method="DELETE", times=None, status=400, code=1)
    status, lines = await site.run(zone=False)
    assert rows(lines)["job removal"][0] == "OTHER"
    assert status == 1
    assert not await site.is_empty()
    await site.emulator.clear_faults()
    status, lines = await site.run(zone=False)
    assert lines[0].startswith("removing resources of an earlier run (svc-field-check-")
    assert status == 0
    assert await site.is_empty()


@pytest.mark.rule("X8")
@pytest.mark.parametrize("step", KILLED_AT)
async def test_next_run_removes_resources_after_kill_at_any_step(site, step):
    async with site.started() as process:
        assert len(await output(process, step)) == step
        process.kill()
        await process.wait()
    for trace in (site.folder / "var").glob("*"):
        assert "cfat_" not in trace.read_text()
        assert json.loads(trace.read_text())["name"].startswith("svc-field-check-")
    status, lines = await site.run("--only-remove", zone=False)
    assert (status, lines[-1]) == (0, "no resources remain")
    assert await site.is_empty()


@pytest.mark.rule("X8")
@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM])
async def test_signal_stops_run_and_resources_are_removed(site, ends):
    async with site.started() as process:
        await output(process, 11)  # at this line, the command has already created the database
        process.send_signal(ends)
        rest = await output(process)
        assert await process.wait() == 1
    assert "remove all resources" in rest
    assert await site.is_empty()


async def test_invalid_token_is_reported_and_creates_nothing(site):
    site.customer = replace(site.customer, bootstrap_token="cf_nonsense")
    status, lines = await site.run(zone=False)
    assert status == 1
    assert any(line.startswith("stopped: ") for line in lines)


async def test_invalid_account_id_is_rejected(tmp_path):
    response = await run_program(["-m", "svc", "field-check", "../elsewhere"], folder=tmp_path)
    assert response.returncode == 2
    assert b"32 hexadecimal digits" in response.stderr
