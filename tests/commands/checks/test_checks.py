"""Tests of the checks for the machine, for DNS records, and for the proxy in front of the service."""

from __future__ import annotations

import json
import os
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dns.asyncresolver
import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest
import trio
import trustme

from svc.clock import system_clock
from svc.commands.checks import store as checks_of_store
from svc.commands.checks.machine import check_clock, check_disk_space, clock_finding, space_finding
from svc.commands.checks.mail import check_sender_domain
from svc.commands.checks.public_url import check_public_url, renewed_late
from svc.commands.checks.store import check_store
from svc.config import Config, HttpConfig, MailConfig, StoreConfig, VaultConfig
from tests.command_runs import api_with_a_clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

HOST = "counters.customer.dev"
HEALTHY = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"


@pytest.mark.parametrize(
    ("ahead_s", "uncertain_s", "verdict", "text"),
    [
        (0, 0, "ok", "agrees"),
        (5, 0, "ok", "agrees"),
        (-6, 0, "warn", "about 6 s behind"),
        (20, 18, "ok", "agrees"),  # after a slow response, the difference between the clocks is unknown
        (61, 0, "FAIL", "about 61 s ahead of"),
        (-3_600, 2, "FAIL", "timedatectl set-ntp true"),
    ],
)
def test_clock_must_agree_with_cloudflare(ahead_s, uncertain_s, verdict, text):
    found = clock_finding(ahead_s * 1_000, uncertain_s * 1_000)
    assert (found.verdict, text in found.text) == (verdict, True), found


async def test_clock_is_compared_with_the_api_and_an_unreachable_api_fails():
    assert (await check_clock(api_with_a_clock())).verdict == "ok"
    found = await check_clock("http://127.0.0.1:1/client/v4")
    assert found.verdict == "FAIL"
    assert "http://127.0.0.1:1/client/v4 cannot be reached" in found.text


def test_the_fullest_disk_is_reported():
    free = {Path("/a"): 50_000_000_000, Path("/b"): 2_000_000_000}
    assert space_finding(free).text == "2.0 GB free in /b"
    found = space_finding({**free, Path("/c"): 999_999_999})
    assert (found.verdict, "1.0 GB free in /c" in found.text) == ("warn", True)
    found = space_finding({**free, Path("/c"): 99_999_999})
    assert (found.verdict, "0.1 GB free in /c" in found.text) == ("FAIL", True)


def test_disk_space_is_measured_above_folders_that_do_not_exist_yet(tmp_path):
    folder = tmp_path / "not/yet"
    config = Config(vault=VaultConfig(key_file=folder / "vault.key"), mail=MailConfig(folder=folder / "mail"))
    assert " GB free in " in check_disk_space(config).text
    assert not folder.exists()


def test_disk_space_is_measured_above_folders_of_another_user(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    config = Config(vault=VaultConfig(key_file=folder / "vault.key"), mail=MailConfig(folder=folder / "mail"))
    folder.chmod(0)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(65534)  # root can read every folder
        found = check_disk_space(config)
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
    assert " GB free in " in found.text


async def test_store_that_does_not_respond_is_reported_with_the_time_limit(tmp_path, monkeypatch):
    """The time limit is 0, so no store responds in time."""
    monkeypatch.setattr(checks_of_store, "_TIMEOUT_S", 0)
    store = StoreConfig.model_validate({"url": f"sqlite:///{tmp_path}/svc.db"})
    found = await check_store(Config(store=store))
    assert (found.verdict, found.text) == ("FAIL", "sqlite: did not respond within 0 s; check [store] url")


@dataclass
class NameServer:
    """A DNS server on a loopback port. `texts`: the TXT records of each name, if any. No other names exist."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    rcode: dns.rcode.Rcode = dns.rcode.NXDOMAIN

    async def serve(self, socket: trio.socket.SocketType) -> None:
        while True:
            wire, sender = await socket.recvfrom(4_096)
            query = dns.message.from_wire(wire)
            response = dns.message.make_response(query)
            [question] = query.question
            texts = self.texts.get(question.name.to_text(omit_final_dot=True))
            if texts is None:
                response.set_rcode(self.rcode)
            elif texts:
                # in the tests, | separates the strings of a record
                quoted = ['"' + '" "'.join(text.split("|")) + '"' for text in texts]
                response.answer.append(dns.rrset.from_text(question.name, 60, "IN", "TXT", *quoted))
            await socket.sendto(response.to_wire(), sender)


@asynccontextmanager
async def resolver_of(server: NameServer) -> AsyncIterator[dns.asyncresolver.Resolver]:
    with trio.socket.socket(trio.socket.AF_INET, trio.socket.SOCK_DGRAM) as socket:
        await socket.bind(("127.0.0.1", 0))
        resolver = dns.asyncresolver.Resolver(configure=False)
        resolver.nameservers, resolver.port = ["127.0.0.1"], socket.getsockname()[1]
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.serve, socket)
            yield resolver
            nursery.cancel_scope.cancel()


async def sender_finding(texts: dict[str, list[str]], rcode: dns.rcode.Rcode = dns.rcode.NXDOMAIN) -> Any:
    settings = {"from": "svc@mail.shop.dev", "transport": "smtp", "smtp_url": "smtp://127.0.0.1:25"}
    async with resolver_of(NameServer(texts, rcode)) as resolver:
        return await check_sender_domain(MailConfig.model_validate(settings), resolver)


COMPLETE = {
    "mail.shop.dev": ["google-site-verification=1", "v=spf1 include:relay.dev |-all"],
    "_domainkey.mail.shop.dev": [],
    "_dmarc.shop.dev": ["v=DMARC1; p=none"],
}


async def test_sender_domain_with_all_records_passes():
    """The domain uses the DMARC record of its parent domain, and one of its records consists of several strings."""
    found = await sender_finding(COMPLETE)
    assert (found.verdict, found.text) == ("ok", "mail.shop.dev has SPF, DKIM and DMARC records")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"mail.shop.dev": []}, "has no SPF record"),
        ({"mail.shop.dev": ["v=spf10 -all"]}, "has no SPF record"),
        ({"mail.shop.dev": ["v=spf1 -all", "V=SPF1 mx"]}, "has 2 SPF records"),
        ({"mail.shop.dev": ["v=spf1 +all"]}, "allows all servers"),
        ({"_domainkey.mail.shop.dev": None}, "has no DKIM key"),
        ({"_dmarc.shop.dev": ["v=DMARC2"]}, "has no DMARC record (TXT, _dmarc.mail.shop.dev)"),
    ],
)
async def test_missing_records_of_the_sender_domain_are_named(changes, text):
    texts = {name: records for name, records in {**COMPLETE, **changes}.items() if records is not None}
    found = await sender_finding(texts)
    assert (found.verdict, text in found.text) == ("warn", True), found
    assert "; " not in found.text.removesuffix("; emails may be treated as spam (docs/operate/mail.md)")


async def test_failing_name_server_is_not_taken_for_missing_records():
    found = await sender_finding({}, dns.rcode.SERVFAIL)
    assert (found.verdict, "could not be read" in found.text) == ("warn", True), found


@pytest.mark.parametrize(
    ("settings", "verdict", "text"),
    [
        ({}, "ok", "written to files"),
        ({"from": "a@example.com", "transport": "smtp", "smtp_url": "smtp://127.0.0.1"}, "ok", "for examples"),
        ({"transport": "smtp", "smtp_url": "smtp://127.0.0.1"}, "warn", "localhost is not in public DNS"),
    ],
)
async def test_sender_domain_is_not_looked_up_without_need(settings, verdict, text):
    found = await check_sender_domain(MailConfig(**settings))
    assert (found.verdict, text in found.text) == (verdict, True), found


class _OnlyLoopback(trio.abc.HostnameResolver):
    """Resolve HOST to the loopback address, and resolve no other names."""

    async def getaddrinfo(self, host, port, family=0, type=0, proto=0, flags=0):  # noqa: A002 (the interface's names)
        if host not in (HOST.encode(), HOST, "127.0.0.1", b"127.0.0.1"):
            raise trio.socket.gaierror(trio.socket.EAI_NONAME, "Name or service not known")
        return [(trio.socket.AF_INET, trio.socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    async def getnameinfo(self, sockaddr, flags):
        raise NotImplementedError


@asynccontextmanager
async def proxy(authority: trustme.CA, response: bytes, **certificate: Any) -> AsyncIterator[int]:
    """Run a TLS server that sends `response` to every request. Yield its port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(certificate.pop("host", HOST), **certificate).configure_cert(context)

    async def serve(stream: trio.abc.Stream) -> None:
        try:
            await stream.receive_some(4_096)
            await stream.send_all(response)
            await stream.aclose()
        except trio.BrokenResourceError:
            pass  # the client has rejected the certificate

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_ssl_over_tcp, serve, 0, context, host="127.0.0.1"))
        yield listeners[0].transport_listener.socket.getsockname()[1]
        nursery.cancel_scope.cancel()


async def public_url_finding(response: bytes, *, trusted: tuple[str, ...] = ("127.0.0.1",), **certificate: Any) -> Any:
    trio.socket.set_custom_hostname_resolver(_OnlyLoopback())  # for the rest of the test
    authority = trustme.CA()
    client = ssl.create_default_context()
    authority.configure_trust(client)
    async with proxy(authority, response, **certificate) as port:
        http = HttpConfig(base_url=f"https://{HOST}:{port}", trusted_proxies=trusted)
        return await check_public_url(http, client)


def healthy(client: str | None) -> bytes:
    body = json.dumps({"ok": True, "client": client}).encode()
    return HEALTHY % (len(body), body)


@pytest.mark.parametrize(
    ("response", "trusted", "verdict", "text"),
    [
        (healthy("203.0.113.9"), ("127.0.0.1",), "ok", "the service sees this machine's address as 203.0.113.9"),
        (healthy("2001:db8::9"), ("127.0.0.0/8", "::1"), "ok", "2001:db8::9"),
        (healthy("127.0.0.1"), (), "FAIL", "all clients appear to have the proxy's address 127.0.0.1"),
        (healthy("127.0.0.1"), ("127.0.0.0/8",), "FAIL", "configure it to set X-Forwarded-For"),
        (healthy(None), ("127.0.0.1",), "FAIL", "configure it to set X-Forwarded-For"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n", ("127.0.0.1",), "warn", "status 502"),
        (b"HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", ("127.0.0.1",), "FAIL", "another program"),
        (b"HTTP/1.1 200 OK\r\n\r\n<html>" + b"x" * 100_000, ("127.0.0.1",), "FAIL", "another program"),
        (b"HTTP/1.1 200 OK\r\n\r\n[true]", ("127.0.0.1",), "FAIL", "another program"),
        (b"not HTTP\r\n\r\n", ("127.0.0.1",), "warn", "cannot be reached from this machine"),
    ],
    ids=["ok", "ipv6", "no setting", "no header", "odd header", "502", "redirect", "large", "other JSON", "not HTTP"],
)
async def test_public_url_shows_what_is_wrong_in_front_of_the_service(response, trusted, verdict, text):
    found = await public_url_finding(response, trusted=trusted)
    assert (found.verdict, text in found.text) == (verdict, True), found


async def test_public_url_fails_for_a_certificate_of_another_host_and_for_a_missing_name():
    found = await public_url_finding(healthy("203.0.113.9"), host="other.customer.dev")
    assert (found.verdict, f"the certificate of {HOST} is not valid: Hostname mismatch" in found.text) == ("FAIL", True)
    found = await check_public_url(HttpConfig(base_url="https://missing.customer.dev"))
    assert (found.verdict, "the name missing.customer.dev is not in DNS" in found.text) == ("FAIL", True), found


@pytest.mark.parametrize(
    "url", ["", "http://counters.dev", "https://192.0.2.1", "https://svc", "https://a.example.org"]
)
async def test_public_url_that_is_not_public_is_not_requested(url):
    found = await check_public_url(HttpConfig(base_url=url))
    assert (found.verdict, "not checked" in found.text) == ("ok", True)


def test_certificate_that_was_not_renewed_is_reported():
    """A certificate that is valid for 90 days is reported 18 days before its expiry. A certificate for six days is
    reported only on its last day.
    """
    day_ms = 86_400_000
    now = system_clock() // 1000 * 1000

    def lifetime(days: int, left: int) -> dict[str, str]:
        return {
            "notBefore": _as_certificate(now - (days - left) * day_ms),
            "notAfter": _as_certificate(now + left * day_ms),
        }

    assert renewed_late(lifetime(90, 30), now) is None
    assert "expires at 20" in str(renewed_late(lifetime(90, 17), now))
    assert renewed_late(lifetime(6, 2), now) is None
    assert renewed_late(lifetime(6, 1), now) is not None


def _as_certificate(at: int) -> str:
    """Format ms since 1970 as in `getpeercert`."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%b %d %H:%M:%S %Y GMT")
