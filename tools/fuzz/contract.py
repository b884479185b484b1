"""Fuzzes every operation in the OpenAPI document over HTTP with schemathesis.

All checks and phases of schemathesis run, with every kind of credential. `python -m tools.fuzz.contract --cases 2000`
sends at least this number of cases for each operation, and prints the number of cases for each kind of credential. A
short run is part of the tests. The service is real, and its accounts are connected to the emulator. `callers` describes
the users, and `schemathesis_hooks` contains additional settings for schemathesis.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import LENIENT, open_emulator
from edge_worker.harness.service import Service, open_service
from edge_worker.programs import forking
from svc.api.contract import ENDPOINTS
from svc.ids import new_secret
from svc.model import Scope
from svc.security.api_key import new_api_key
from tests.http.who_may import ALIKE
from tools.fuzz.callers import KINDS, PASSWORD

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from edge_worker.emulator.client import Emulator

ROOT = Path(__file__).parents[2]
ZONE = "shop.example"
OPERATIONS = {endpoint.operation_id: f"{endpoint.method} {endpoint.path}" for endpoint in ENDPOINTS}
_EXAMPLES = 100  # per operation and run
# These settings raise all limits, so that the fuzzer does not reach them. Other tests cover the limits.
_SETTINGS = {f"SVC_LIMITS_{name}": "1000000" for name in (
    "SIGN_INS_PER_MINUTE", "REFRESHES_PER_MINUTE", "WRONG_PASSWORDS_PER_HOUR", "REQUESTS_PER_MINUTE",
    "ACCOUNTS", "SITES", "LINKS", "KEYS_FREE",
)} | {
    "SVC_TIMING_SESSION_S": "1000000",
    "SVC_EDGE_CALLS_PER_TOKEN": "1000000",
}  # fmt: skip
# The service is right to reject some requests that match the schema. The status is 422 for an unknown bootstrap token
# or a host outside every zone. It is 400 for an unknown email token, an invalid cursor, a future day, a share that ends
# in the past, a note without exactly one target, or a link that would end before it starts. It is also 400 for a QR
# code that scanners could not read, and for a bulk change without exactly one selection. Invalid parts of a push are
# rejected individually. Deleted sites and links can still be read.
# By default, schemathesis cuts responses after 1 MiB, and then fails to parse the OpenAPI document as YAML.
_CONFIG = """
[generation]
database = "none"
[output.truncation]
max-recorded-payload-size = 0
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429", "502", "503"]
negative_data_rejection.expected-statuses = ["4xx"]
[[operations]]
include-path-regex = "^/auth/((password-reset|email)/)?(confirm|revert)$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]
[[operations]]
include-path-regex = "^/v1/(links|sites|events|.*/totals|.*/ledger)$"
include-method = "GET"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422"]
[[operations]]
include-path = "/v1/links/{link_id}"
include-method = "PATCH"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422"]
[[operations]]
include-path-regex = "^/v1/links/(.*/)?qr[.](svg|png|zip|html)$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429"]
[[operations]]
include-path = "/v1/links/bulk"
include-method = "PATCH"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422"]
[[operations]]
include-path = "/v1/links/bulk"
include-method = "DELETE"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422"]
[[operations]]
include-path = "/edge/push"
checks.negative_data_rejection.expected-statuses = ["4xx", "200"]
[[operations]]
include-path-regex = "^/(v1/notes|v1/.*/?shares|s/)"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409"]
[[operations]]
include-path-regex = "^/v1/(sites|links)/"
checks.use_after_free.enabled = false
"""


# The number of cases by operation ("GET /v1/me"), kind of credential, and status.
Cases = dict[str, dict[str, dict[str, int]]]


@dataclass(frozen=True)
class Outcome:
    """The result of a run of schemathesis: its exit status (0 if it found nothing) and its report."""

    status: int
    cases: Cases
    report: str
    faults: int  # the number of errors in the service's log


@asynccontextmanager
async def open_world(folder: Path) -> AsyncIterator[tuple[Service, dict[str, Any]]]:
    """Run a service with users.

    One user has resources of every kind. Yield the service and the description of the users.
    """
    # A lenient emulator without Cloudflare's rate limit, because the fuzzer makes more calls than the limit allows.
    async with open_emulator(local_egress=True, rate_limit=0, **LENIENT) as emulator:
        settings = {**_SETTINGS, "SVC_EDGE_API_BASE_URL": emulator.api, "SVC_EDGE_EMULATED_EDGE": emulator.edge}
        async with open_service(folder / "svc", settings) as service:
            yield service, {"url": service.url, "control": emulator.control, **await _create_users(service, emulator)}


async def _create_users(service: Service, emulator: Emulator) -> dict[str, Any]:
    """Create the users. Return their credentials and the main user's resources, which `callers` uses."""
    emails = {kind: f"{kind}@example.com" for kind in ("visitor", "cookie", "unconfirmed", "stranger", "session")}
    credentials: dict[str, dict[str, str]] = {"anonymous": {}, "bad": {"Authorization": f"Bearer {new_secret('svs_')}"}}
    credentials["bad key"] = {"Authorization": f"Bearer {new_api_key()}"}
    for kind, email in emails.items():
        await service.call("POST", "/auth/sign-up", {"email": email, "password": PASSWORD})
        if kind != "unconfirmed":
            await service.call("POST", "/auth/confirm", {"token": await service.mailed_token(email, "confirm")})
        cookie = await _sign_in(service, email)
        credentials[kind] = {"Cookie": cookie} if kind == "cookie" else service.headers
        if kind == "visitor":
            await _account(service, emulator, "elsewhere.example")
            [upload] = await emulator.uploads()
            credentials["worker"] = {"Authorization": f"Bearer {upload.texts['WORKER_KEY']}"}
    known = await _account(service, emulator, ZONE)
    kept = []
    restrictions: dict[str, dict[str, Any]] = {
        "key": {},
        "limited": {"allow_accounts": ["e" * 32]},
        "elsewhere": {"allow_ips": ["192.0.2.0/24"]},
        "revoked": {},
        **{scope: {"scopes": [scope]} for scope in get_args(Scope)},
    }
    for kind, restricted in restrictions.items():
        issued = await service.call("POST", "/v1/keys", {"scopes": get_args(Scope), **restricted})
        credentials[kind] = {"Authorization": f"Bearer {issued['key']}"}
        kept.append(issued["id"])
    await service.call("DELETE", f"/v1/keys/{kept[3]}")
    [session] = (await service.call("GET", "/v1/me/sessions"))["sessions"]
    await _sign_in(service, emails["session"])
    credentials["signed out"] = service.headers
    await service.call("POST", "/auth/sign-out", {})
    known |= {"key_id": kept[0], "session_id": session["id"], "email": emails["visitor"]}
    known |= {"password": PASSWORD, "old": PASSWORD}
    del emails["visitor"]
    return {"known": known, "credentials": credentials, "emails": emails, "kept": kept, "zone": ZONE}


async def _sign_in(service: Service, email: str) -> str:
    """Sign in, and return the cookie of the session for later calls."""
    service.client.cookies.clear()
    signed_in = await service.call("POST", "/auth/sign-in", {"email": email, "password": PASSWORD})
    service.headers = {"Authorization": f"Bearer {signed_in['access_token']}"}
    cookie = "; ".join(f"{name}={value}" for name, value in service.client.cookies.items())
    service.client.cookies.clear()
    return cookie


async def _account(service: Service, emulator: Emulator, zone: str) -> dict[str, str]:
    """Connect an account, and create a link host, a site, a link, a note and a share. Return their ids."""
    customer = await emulator.create_account([proxied_zone(zone)])
    body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
    account_id = (await service.call("POST", "/v1/accounts", body))["account"]["id"]
    await service.account_in(account_id, "ready")
    await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
    site = await service.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})
    link = await service.call("POST", "/v1/links", {"account_id": account_id, "url": "https://example.org/"})
    body = {"site_id": site["site"]["id"], "day": "2026-11-21", "text": "Newsletter sent"}
    note = await service.call("POST", "/v1/notes", body)
    path = f"/v1/sites/{site['site']['id']}/shares"
    share = (await service.call("POST", path, {"name": "Shop", "lists": True}))["share"]
    return {
        "account_id": account_id,
        "note_id": note["note"]["id"],
        "share_id": share["id"],
        "secret": share["url"].rpartition("/")[2],
        "edge_account_id": customer.account_id,
        "site_id": site["site"]["id"],
        "link_id": link["link"]["id"],
    }


async def fuzz(folder: Path, seed: int, *options: str) -> Outcome:
    """Run schemathesis on every operation, with its files in `folder`. `options` limit the duration of the run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schemathesis.toml").write_text(_CONFIG)
    async with open_world(folder) as (service, world):
        # Use a file. Otherwise, schemathesis would skip the operation that serves the document.
        (folder / "openapi.json").write_text(json.dumps(await service.call("GET", "/openapi.json")))
        command: Sequence[str] = [
            str(Path(sys.executable).with_name("schemathesis")),
            "--config-file=schemathesis.toml",
            "run",
            "openapi.json",
            f"--url={service.url}",
            "--checks=all",
            "--continue-on-failure",
            "--request-timeout=60",
            "--suppress-health-check=filter_too_much,too_slow",  # these check the generator, and not the service
            "--no-color",
            f"--seed={seed}",
            *options,
        ]
        environ = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tools.fuzz.schemathesis_hooks",
            "SVC_FUZZ_WORLD": json.dumps(world),
        }
        ended = await trio.run_process(
            command, cwd=folder, env=environ, check=False, capture_stdout=True, stderr=subprocess.STDOUT
        )
        log = (folder / "svc" / "log").read_text()
    cases = json.loads((folder / "cases.json").read_text())
    faults = sum('"error"' in line for line in log.splitlines())
    return Outcome(ended.returncode, cases, ended.stdout.decode(), faults)


def counted(cases: Cases, operation: str) -> int:
    """Return the number of an operation's cases."""
    return sum(sum(statuses.values()) for statuses in cases.get(operation, {}).values())


def never_done(cases: Cases) -> list[str]:
    """Return the operations that never succeeded, although some caller has permission to use them.

    Operations without a successful case are hardly tested.
    """
    return [
        operation
        for operation in OPERATIONS.values()
        if ALIKE.get(operation) != "400"
        and not any(status < "300" for statuses in cases.get(operation, {}).values() for status in statuses)
    ]


def table(cases: Cases) -> str:
    """Return a table with the number of cases by operation and kind of credential."""
    kinds = list(dict.fromkeys(KINDS))
    lines = [f"{'':45} {'all':>6} " + " ".join(f"{kind[:6]:>6}" for kind in kinds)]
    for operation in OPERATIONS.values():
        by_kind = [sum(cases.get(operation, {}).get(kind, {}).values()) for kind in kinds]
        lines.append(f"{operation:45} {sum(by_kind):6} " + " ".join(f"{number:6}" for number in by_kind))
    return "\n".join(lines) + "\n"


async def main(wanted: int, seed: int, concurrency: int) -> None:
    """Run until `wanted` cases have been sent for every operation.

    Up to `concurrency` runs are active at a time, each with a new seed and a new service. Raises SystemExit if a run
    found a problem, or if an operation had too few cases or never succeeded.
    """
    cases: Cases = {}
    findings: list[int] = []
    seeds = itertools.count(seed)

    async def runs() -> None:
        while lacking := {
            name: wanted - counted(cases, operation)
            for name, operation in OPERATIONS.items()
            if counted(cases, operation) < wanted
        }:
            own = next(seeds)
            examples = min(_EXAMPLES, max(lacking.values()))
            # The coverage phase runs only once, because it depends only on the document.
            phases = "examples,coverage,fuzzing,stateful" if own == seed else "fuzzing,stateful"
            only = [f"--include-operation-id={name}" for name in lacking]
            with tempfile.TemporaryDirectory(prefix="svc-fuzz-") as folder:
                outcome = await fuzz(Path(folder), own, f"--max-examples={examples}", f"--phases={phases}", *only)
            number = add(cases, outcome.cases)
            sys.stdout.write(
                f"seed {own}: {number} cases of {len(lacking)} operations, {outcome.faults} errors in the log;"
                f" each now has at least {min(counted(cases, operation) for operation in OPERATIONS.values())}\n"
            )
            if outcome.status or outcome.faults:
                findings.append(own)
                sys.stdout.write(outcome.report)
            sys.stdout.flush()
            if not number:
                break

    with forking(
        "svc.main", "svc.store.engines.sqlite.opening", "tests.cheap_passwords", "edge_worker.emulator.__main__"
    ):
        async with trio.open_nursery() as nursery:
            for _ in range(concurrency):
                nursery.start_soon(runs)
    fewer = [operation for operation in OPERATIONS.values() if counted(cases, operation) < wanted]
    sys.stdout.write(table(cases))
    sys.stdout.write(f"fewer than {wanted}: {fewer or 'none'}; never succeeded: {never_done(cases) or 'none'}\n")
    if findings or fewer or never_done(cases):
        raise SystemExit(1)


def add(cases: Cases, more: Cases) -> int:
    """Add the cases of a run to the total, and return the number of added cases."""
    for operation, kinds in more.items():
        for kind, statuses in kinds.items():
            sums = cases.setdefault(operation, {}).setdefault(kind, {})
            for status, number in statuses.items():
                sums[status] = sums.get(status, 0) + number
    return sum(counted(more, operation) for operation in more)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=2_000, help="cases per operation")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--concurrency", type=int, default=os.cpu_count() or 1, help="number of concurrent runs")
    arguments = parser.parse_args()
    trio.run(main, arguments.cases, arguments.seed, arguments.concurrency)
