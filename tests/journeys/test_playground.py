"""Tests of the demo's playground: the URL that signs the user in, and the second account."""

from __future__ import annotations

import html
import json
import re
from contextlib import AsyncExitStack

import httpx
import trio

from edge_worker.demo_playground import SECOND_HOST, Playground, offer_account, open_address
from edge_worker.harness.service import open_service
from edge_worker.local_http import local_client
from tests.journeys.conftest import settings_of

EMAIL, PASSWORD = "you@example.com", "correct horse battery"


async def test_demo_signs_in_and_its_second_account_counts_a_view(emulator, store_config, tmp_path):
    async with open_address() as address, local_client() as browser, AsyncExitStack() as running:
        offered = await offer_account(emulator, address)
        settings = {**settings_of(emulator, store_config), "SVC_WEB_DEMONSTRATION": offered}
        service = await running.enter_async_context(open_service(tmp_path / "demo", settings))
        await service.sign_up(EMAIL, PASSWORD)
        playground = Playground(emulator, service, address, EMAIL, PASSWORD)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(playground.serve)

            signed_in = await browser.get(address.sign_in_url)
            assert (signed_in.status_code, signed_in.headers["Location"]) == (303, f"{service.url}/")
            cookies = "; ".join(value.partition(";")[0] for value in signed_in.headers.get_list("Set-Cookie"))
            refreshed = await browser.post(f"{service.url}/auth/refresh", json={}, headers={"Cookie": cookies})
            assert refreshed.json()["user"]["email"] == EMAIL

            page = (await browser.get(f"{service.url}/accounts/connect", headers={"Accept": "text/html"})).text
            [shown] = re.findall(r'<meta name="demonstration" content="([^"]*)"', page)
            assert html.unescape(shown) == offered
            assert "There is no site" in (await browser.get(address.visit_url)).text

            values = json.loads(offered)
            assert (values["host"], values["visit_url"]) == (SECOND_HOST, address.visit_url)
            body = {name: values[name] for name in ("edge_account_id", "bootstrap_token")}
            account = (await service.call("POST", "/v1/accounts", body, expect=202))["account"]
            await service.account_in(account["id"], "ready")
            body = {"account_id": account["id"], "host": SECOND_HOST}
            site = (await service.call("POST", "/v1/sites", body, expect=202))["site"]
            await service.synced(f"/v1/sites/{site['id']}")
            assert "Viewed https://second.example/ once." in (await browser.get(address.visit_url)).text
            await emulator.settled()
            first = await service.call("GET", f"/v1/sites/{site['id']}/first-view")
            assert first["first_view"]["seen"]

            # The web application's page of a site adds the site's path to the URL, because the site can belong to any
            # user.
            for given, said in (
                (site["path"], "Viewed https://second.example/ once."),
                ("/other", "The view was not counted (status 404)"),
                ("other", "must begin with a slash"),
            ):
                response = await browser.get(address.visit_url, params={"path": given})
                assert said in response.text
            await emulator.settled()

            for path in (
                "/",
                "/wrong/sign-in",
                address.sign_in_url.rpartition("/")[0].rpartition("/")[2] + "/other",
            ):
                wrong = f"http://127.0.0.1:{address.port}/{path.lstrip('/')}"
                assert (await browser.get(wrong)).status_code == 404
            assert (await browser.post(address.sign_in_url)).status_code == 404
            nursery.cancel_scope.cancel()


async def test_playground_survives_bad_requests(emulator, service):
    async with open_address() as address, trio.open_nursery() as nursery, local_client() as browser:
        playground = Playground(emulator, service, address, EMAIL, PASSWORD)  # no user has this address
        nursery.start_soon(playground.serve)
        for request in (b"", b"\r\n\r\n", b"GET\r\n\r\n", b"\xff" * 20_000):
            async with await trio.open_tcp_stream("127.0.0.1", address.port) as stream:
                await stream.send_all(request)
                await stream.send_eof()
        assert (await browser.get(address.sign_in_url)).status_code == httpx.codes.BAD_GATEWAY
        nursery.cancel_scope.cancel()
