"""Tests that the service sends requests only to public addresses, and that a slow or failed name server does not block
other work.
"""

from __future__ import annotations

import ipaddress
import socket
import threading

import pytest
import trio
import trio.testing

from svc.edge.public_addresses import LookupFailed, NotPublic, NotResolved, is_public, public_addresses

PUBLIC = (
    "1.1.1.1", "104.16.132.229", "2606:4700::6810:84e5", "::ffff:1.1.1.1",
    "64:ff9b::101:101",  # NAT64 of 1.1.1.1
)  # fmt: skip
NOT_PUBLIC = (
    "0.0.0.0", "10.0.0.1", "127.0.0.1", "127.255.255.254", "172.16.0.1", "192.168.1.1",
    "169.254.169.254",  # metadata service of cloud providers
    "100.64.0.1", "100.100.100.200",  # shared address space, and a cloud provider's metadata service in it
    "168.63.129.16", "192.0.2.1", "192.88.99.1", "198.18.0.1", "224.0.0.1", "239.255.255.250", "240.0.0.1",
    "255.255.255.255",
    "::", "::1", "::10.0.0.1", "100::1", "2001:db8::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%1", "fec0::1",
    "ff02::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254",  # IPv4-mapped
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",  # NAT64
    "2002:7f00:1::", "2002:101:101::",  # 6to4
    "2001:0:101:101::1",  # Teredo
)  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_address_is_public(address):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_address_is_not_public(address):
    assert not is_public(ipaddress.ip_address(address))


async def test_addresses_are_returned_once():
    lookup = {"go.example.com": ["1.1.1.1", "2606:4700::1", "1.1.1.1"]}
    assert await public_addresses("go.example.com", lookup.__getitem__) == ["1.1.1.1", "2606:4700::1"]


@pytest.mark.parametrize("position", [0, 1, 9])
async def test_one_private_address_is_enough_to_refuse_the_host(position):
    addresses = [f"1.1.1.{number}" for number in range(1, 10)]
    addresses.insert(position, "::ffff:10.0.0.1")
    with pytest.raises(NotPublic, match=r"^::ffff:10\.0\.0\.1$"):
        await public_addresses("go.example.com", lambda _: addresses)


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (socket.gaierror(socket.EAI_NONAME, "unknown"), NotResolved),
        (socket.gaierror(socket.EAI_NODATA, "no addresses"), NotResolved),
        (UnicodeError("label too long"), NotResolved),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), LookupFailed),
        (socket.gaierror(socket.EAI_FAIL, "failed"), LookupFailed),
    ],
    ids=str,
)
async def test_error_of_a_lookup(error, raised):
    def lookup(_: str) -> list[str]:
        raise error

    with pytest.raises(raised):
        await public_addresses("go.example.com", lookup)


async def test_host_without_addresses_is_not_resolved():
    with pytest.raises(NotResolved):
        await public_addresses("go.example.com", lambda _: [])


async def test_silent_name_server_occupies_only_the_threads_of_lookups(autojump_clock, monkeypatch):
    # Use a separate limiter, because threads that outlive the Trio run of a test never return their slots.
    monkeypatch.setattr("svc.edge.public_addresses._LOOKUPS", trio.CapacityLimiter(4))
    released = threading.Event()

    def lookup(_: str) -> list[str]:
        assert released.wait(60)
        return ["1.1.1.1"]

    async def fail() -> None:
        with pytest.raises(LookupFailed, match="no response within 5 s"):
            await public_addresses("go.example.com", lookup)

    try:
        async with trio.open_nursery() as nursery:
            for _ in range(100):
                nursery.start_soon(fail)
        assert trio.to_thread.current_default_thread_limiter().borrowed_tokens == 0
        assert threading.active_count() < 20
    finally:
        released.set()
