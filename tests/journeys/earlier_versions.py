"""Upgrades from earlier versions: `make upgrades`.

An earlier version creates a store and installs its Worker. The current version then takes over both, while visitors
send views and clicks. No event is lost or counted twice. Afterwards, the earlier version refuses to open the store.

Each version is built from this repository's history. Building one takes a few minutes and needs access to the package
registries, so `make test` does not collect this file.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from edge_worker.harness.service import Program, Service, environment, eventually, open_service
from svc.clock import HOUR_MS
from svc.worker.bundle import load_bundle
from tests.databases import sqlite_config
from tests.journeys.conftest import ZONE, begin_yesterday, crons, free_port, settings_of
from tests.journeys.traffic import AGENT, MINUTE_MS, Traffic, close_day, stored

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edge_worker.emulator.client import Customer, Emulator

ROOT = Path(__file__).parents[2]
BUILDS = ROOT / "var/earlier"
# The last version without options of links, and the last one whose rules have no conditions for languages, operating
# systems and parameters.
COMMITS = ("f707d816^", "79ef0158^")
# A version from before the first schema that is supported. Later versions changed its tables without a migration.
UNSUPPORTED = "852f550e"
_KNOWN_SETTINGS = """
import json
from svc.config import Config
sections = Config().model_dump(mode="json", by_alias=True)
print(json.dumps([f"SVC_{section}_{name}".upper() for section, names in sections.items() for name in names]))
"""


def versions() -> list[str]:
    """Return the commits in `COMMITS`, and the tags of all releases."""
    return [*COMMITS, *_git("tag", "--list", "v*").split()]


def _git(*arguments: str, at: Path = ROOT) -> str:
    return subprocess.run(["git", "-C", at, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@dataclass(frozen=True)
class Earlier:
    """An earlier version, built in `folder`. `settings`: the names of its environment variables."""

    folder: Path
    settings: frozenset[str]

    @property
    def svc(self) -> Path:
        return self.folder / ".venv/bin/svc"

    def serve(self, environ: dict[str, str]) -> Sequence[str | Path]:
        """Return the command that starts the service without the settings that this version does not have.

        The service starts in the version's own folder, because it reads `config.toml` in the current folder.
        """
        unknown = sorted(name for name in environ if name.startswith("SVC_") and name not in self.settings)
        return ["env", f"--chdir={self.folder}", *(f"--unset={name}" for name in unknown), self.svc, "serve"]


@pytest.fixture(scope="session", params=versions())
def earlier(request: pytest.FixtureRequest) -> Earlier:
    """An earlier version."""
    return built(request.param)


def built(revision: str) -> Earlier:
    """Return an earlier version, which is built once and kept for later runs."""
    commit = _git("rev-parse", "--short=8", f"{revision}^{{commit}}")
    folder = BUILDS / commit
    if not folder.exists():
        _git("clone", "--quiet", "--shared", "--no-checkout", str(ROOT), str(folder))
        _git("checkout", "--quiet", "--detach", commit, at=folder)
    subprocess.run(["make", "build"], cwd=folder, check=True)
    asked: list[str | Path] = [folder / ".venv/bin/python", "-c", _KNOWN_SETTINGS]
    known = subprocess.run(asked, cwd=folder, stdout=subprocess.PIPE, check=True)
    return Earlier(folder, frozenset(json.loads(known.stdout)))


@pytest.mark.rule("X7", "A21", "Y11")
@pytest.mark.timeout(1_800)
async def test_current_version_takes_over_store_and_worker(
    earlier: Earlier, emulator: Emulator, customer: Customer, tmp_path: Path
) -> None:
    store = sqlite_config(tmp_path)
    settings = settings_of(emulator, store, SVC_HTTP_BIND=free_port(), SVC_TIMING_ROLLOUT_EVERY_S="0.3")
    real, noon = await begin_yesterday(emulator, after_ms=2 * HOUR_MS)
    async with open_service(tmp_path / "svc", settings, program=Program(earlier.serve)) as service:
        await service.sign_up("a@example.com", "a long password")
        headers = service.headers
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        account_id = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]["id"]
        await eventually(lambda: has_worker(service, account_id))
        await crons(emulator, customer, real, noon + 12 * MINUTE_MS, 2)  # the Worker confirms its installation
        await service.account_in(account_id, "ready")
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{ZONE}"}, expect=202)
        site, link = await targets(service, account_id)
        traffic = Traffic(emulator, site["path"], link["code"])
        await traffic.visits(20)
        await crons(emulator, customer, real, noon + 62 * MINUTE_MS, 5)
        await traffic.visits(20)

    async with open_service(tmp_path / "svc", settings) as service:
        service.headers = headers
        options = await link_with_options(service, account_id)
        account = await traffic.until_updated(service, account_id)
        assert account["edge"]["bundle"] == load_bundle().sha256
        await crons(emulator, customer, real, noon + 70 * MINUTE_MS, 2)
        await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}", f"/v1/links/{options['id']}")
        visit = await emulator.visit(f"go.{ZONE}", f"/{options['code']}?q=1&campaign=x", headers=AGENT)
        assert dict(visit.headers)["location"] in {f"https://a.example/split{number}?campaign=x" for number in (1, 2)}
        await close_day(emulator, customer, real, noon)
        account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
        assert account["state"] == "ready", account
        assert (account["operation"]["kind"], account["operation"]["state"]) == ("update", "done")
        assert (account["push"]["queue"], sum(account["push"]["dropped"].values())) == (0, 0)
    assert traffic.sent > 60
    assert await stored(store, site["id"], noon) == (traffic.sent, min(traffic.sent, 200))
    assert await stored(store, link["id"], noon) == (traffic.sent, min(traffic.sent, 200))

    environ = environment(tmp_path / "svc", settings)
    refused = await trio.run_process(
        earlier.serve(environ), env=environ, capture_stdout=True, capture_stderr=True, check=False
    )
    assert refused.returncode not in (0, None)
    assert b"newer" in refused.stderr, refused.stderr
    assert b"Traceback" not in refused.stderr, refused.stderr


@pytest.mark.rule("Y11")
@pytest.mark.timeout(1_800)
async def test_store_of_an_unsupported_version_is_refused_and_not_changed(emulator: Emulator, tmp_path: Path) -> None:
    earlier = built(UNSUPPORTED)
    settings = settings_of(emulator, sqlite_config(tmp_path), SVC_HTTP_BIND=free_port())
    folder, file = tmp_path / "svc", tmp_path / "svc.db"
    async with open_service(folder, settings, program=Program(earlier.serve)) as service:
        await service.sign_up("a@example.com", "a long password")
    before = file.read_bytes()
    environ = environment(folder, settings)
    command = [sys.executable, "-m", "svc", "serve"]
    refused = await trio.run_process(command, env=environ, capture_stdout=True, capture_stderr=True, check=False)
    assert refused.returncode == 1
    assert b"an unreleased version made it. Restore a backup of a released version" in refused.stderr
    assert b"Traceback" not in refused.stderr
    assert file.read_bytes() == before
    async with open_service(folder, settings, program=Program(earlier.serve)) as service:
        await service.call("POST", "/auth/sign-in", {"email": "a@example.com", "password": "a long password"})


async def has_worker(service: Service, account_id: str) -> bool | None:
    """Return True if the Worker is installed, otherwise None."""
    account = (await service.call("GET", f"/v1/accounts/{account_id}"))["account"]
    return account["operation"]["step"] == "selfcheck" or None


async def targets(service: Service, account_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Create a site and a link with a rule. Return them after they have been synced."""
    new: dict[str, Any] = {"account_id": account_id, "host": ZONE}
    site = (await service.call("POST", "/v1/sites", new, expect=202))["site"]
    rule = {"url": "https://a.example/de", "countries": ["DE"], "devices": ["mobile"]}
    new = {"account_id": account_id, "url": "https://a.example/x", "rules": [rule]}
    link = (await service.call("POST", "/v1/links", new, expect=201))["link"]
    await service.synced(f"/v1/sites/{site['id']}", f"/v1/links/{link['id']}")
    return site, link


async def link_with_options(service: Service, account_id: str) -> dict[str, Any]:
    """Create a link with options that the earlier Worker may not support."""
    new = {
        "account_id": account_id,
        "url": "https://a.example/unused",
        "forward_query": True,
        "split": [{"url": f"https://a.example/split{number}", "share": 50} for number in (1, 2)],
        "rules": [{"url": "https://a.example/linux", "os": ["Linux"], "languages": ["de"]}],
    }
    link: dict[str, Any] = (await service.call("POST", "/v1/links", new, expect=201))["link"]
    return link
