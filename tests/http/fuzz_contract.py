"""Every operation of our OpenAPI document under schemathesis, over HTTP, with all of its checks and phases.

`python -m tests.http.fuzz_contract --seconds 1800` does it for half an hour; a short run is in the suite. The service
is the real one, with a connected account on the emulated platform. A seed makes the same requests again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from edge_worker.emulator.client import proxied_zone
from edge_worker.emulator.process import open_emulator
from edge_worker.harness.service import Service, open_service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

ROOT = Path(__file__).parents[2]
ZONE = "shop.example"
_EXAMPLES = 50  # of each operation in a run
# Nothing but the contract is the subject: limits have tests of their own.
_SETTINGS = {
    "SVC_LIMITS_SIGN_INS_PER_MINUTE": "1000000",
    "SVC_LIMITS_WRONG_PASSWORDS_PER_HOUR": "1000000",
    "SVC_LIMITS_ACCOUNTS": "1000000",
    "SVC_LIMITS_SITES": "1000000",
    "SVC_LIMITS_LINKS": "1000000",
    "SVC_LIMITS_KEYS_FREE": "1000000",
}
# What a request that fits the schema may get all the same: an unknown bootstrap token, a host in no zone (422); a token
# of no e-mail, a cursor of no list (400).
_CONFIG = """
[generation]
database = "none"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429", "502", "503"]
[[operations]]
include-path-regex = "^/auth/(password-reset/)?confirm$"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]
[[operations]]
include-operation-id = ["get_v1_links", "get_v1_sites", "get_v1_events"]
checks.positive_data_acceptance.expected-statuses = ["2xx", "400"]
"""


@dataclass(frozen=True)
class Outcome:
    """What schemathesis said: its exit status (0: it found nothing), how many requests it made, its report."""

    status: int
    cases: int
    report: str
    faults: int  # errors in the service's log


@asynccontextmanager
async def open_world(folder: Path) -> AsyncIterator[tuple[Service, dict[str, str]]]:
    """A service with a user, whose account is connected, with a site and a link; what schemathesis is to know of it."""
    # Without the platform's limit of calls: it would refuse what the fuzzer asks for, rightly.
    async with open_emulator(rate_limit=0, local_egress=True) as emulator:
        settings = {**_SETTINGS, "SVC_EDGE_API_BASE_URL": emulator.api}
        async with open_service(folder / "svc", settings) as service:
            await service.sign_up("a@example.com", "a long password")
            customer = await emulator.create_account([proxied_zone(ZONE)])
            body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
            account_id = (await service.call("POST", "/v1/accounts", body))["account"]["id"]
            await service.account_in(account_id, "ready")
            await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{ZONE}"})
            site = await service.call("POST", "/v1/sites", {"account_id": account_id, "host": ZONE})
            link = await service.call("POST", "/v1/links", {"account_id": account_id, "url": "https://example.org/"})
            yield (
                service,
                {
                    **service.headers,
                    "account_id": account_id,
                    "site_id": site["site"]["id"],
                    "link_id": link["link"]["id"],
                },
            )


async def fuzz(folder: Path, seed: int, *options: str) -> Outcome:
    """Run schemathesis over every operation, its files in `folder`; `options` say how long."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schemathesis.toml").write_text(_CONFIG)
    async with open_world(folder) as (service, known):
        command: Sequence[str] = [
            str(Path(sys.executable).with_name("schemathesis")),
            "--config-file=schemathesis.toml",
            "run",
            f"{service.url}/openapi.json",
            "--checks=all",
            "--continue-on-failure",
            "--suppress-health-check=filter_too_much,too_slow",  # of the generator, not of the service
            "--no-color",
            f"--seed={seed}",
            *options,
        ]
        environ = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.http.schemathesis_hooks",
            "SVC_FUZZ_KNOWN": json.dumps(known),
        }
        ended = await trio.run_process(
            command, cwd=folder, env=environ, check=False, capture_stdout=True, stderr=subprocess.STDOUT
        )
        log = (folder / "svc" / "log").read_text()
    report = ended.stdout.decode()
    cases = re.search(r"([\d,]+) generated", report)
    faults = sum('"error"' in line for line in log.splitlines())
    return Outcome(ended.returncode, int(cases[1].replace(",", "")) if cases else 0, report, faults)


async def main(seconds: float, seed: int) -> None:
    """Run again and again, each time with the next seed, until the time is over; stop at the first finding."""
    ends_at, cases, faults = time.monotonic() + seconds, 0, 0
    while time.monotonic() < ends_at:
        with tempfile.TemporaryDirectory(prefix="svc-fuzz-") as folder:
            outcome = await fuzz(Path(folder), seed, f"--max-examples={_EXAMPLES}")
        cases += outcome.cases
        faults += outcome.faults
        sys.stdout.write(f"seed {seed}: {outcome.cases} requests, {outcome.faults} faults in the log\n")
        if outcome.status or outcome.faults:
            sys.stdout.write(outcome.report)
            raise SystemExit(1)
        seed += 1
    sys.stdout.write(f"{cases} requests, {faults} faults in the log\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1_800)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    arguments = parser.parse_args()
    trio.run(main, arguments.seconds, arguments.seed)
