"""The client's address behind proxies, and the bearer's token: pure."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.errors import Unauthorized
from svc.http.credentials import address_allowed, bearer, client_address, networks_of

PROXIES = [ipaddress.ip_network(text) for text in ("10.0.0.0/8", "fd00::/8")]


@pytest.mark.rule("C5")
@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.7"], "203.0.113.9"),  # not a proxy of ours: what it says is not believed
        ("10.1.2.3", ["198.51.100.7"], "198.51.100.7"),
        ("10.1.2.3", ["6.6.6.6, 198.51.100.7"], "198.51.100.7"),  # the client wrote the first one itself
        ("10.1.2.3", ["6.6.6.6", "198.51.100.7, 10.9.9.9"], "198.51.100.7"),
        ("10.1.2.3", ["10.4.4.4"], "10.4.4.4"),
        ("10.1.2.3", [], "10.1.2.3"),
        ("10.1.2.3", ["2001:db8::1"], "2001:db8::1"),
        ("fd00::1", ["[2001:db8::1]:4711"], "2001:db8::1"),
        ("10.1.2.3", ["198.51.100.7:4711"], "198.51.100.7"),
        ("::ffff:10.1.2.3", ["::ffff:198.51.100.7"], "198.51.100.7"),
        ("10.1.2.3", ["198.51.100.7, unknown"], None),
        ("10.1.2.3", [""], None),
        (None, ["198.51.100.7"], None),
        ("<local>", ["198.51.100.7"], None),
    ],
)
def test_the_client_is_the_last_address_that_no_proxy_of_ours_has(peer, forwarded, expected):
    assert client_address(peer, forwarded, PROXIES) == (expected and ipaddress.ip_address(expected))


@pytest.mark.rule("C5")
@pytest.mark.parametrize(
    ("client", "allow_ips", "allowed"),
    [
        ("198.51.100.7", None, True),
        (None, None, True),
        ("198.51.100.7", [], False),
        (None, ["0.0.0.0/0"], False),
        ("198.51.100.7", ["198.51.100.7"], True),
        ("198.51.100.7", ["198.51.100.8"], False),
        ("198.51.100.7", ["2001:db8::/32", "198.51.100.0/24"], True),
        ("198.51.100.7", ["198.51.100.9/24"], True),
        ("2001:db8::5", ["2001:db8::/32"], True),
        ("2001:db9::5", ["2001:db8::/32", "0.0.0.0/0"], False),
    ],
)
def test_allow_ips_takes_addresses_and_networks_of_both_families(client, allow_ips, allowed):
    assert address_allowed(client and ipaddress.ip_address(client), allow_ips) is allowed


@pytest.mark.rule("C5")
@given(
    spoofed=st.lists(st.text(st.characters(codec="ascii"), max_size=20), max_size=4),
    real=st.ip_addresses(v=4).filter(lambda address: address not in PROXIES[0]),
)
def test_nothing_that_a_client_writes_into_the_header_changes_its_address(spoofed, real):
    header = ", ".join([*spoofed, str(real)])
    assert client_address("10.1.2.3", [header], PROXIES) == real


def test_of_a_long_header_only_the_end_is_read():
    hops = ["not an address"] * 5_000 + ["10.0.0.1"] * 15
    assert client_address("10.1.2.3", [", ".join(hops)], PROXIES) is None
    trusted = ["6.6.6.6"] + ["10.0.0.1"] * 5_000
    assert client_address("10.1.2.3", [", ".join(trusted)], PROXIES) == ipaddress.ip_address("10.0.0.1")
    assert client_address("10.1.2.3", trusted, PROXIES) == ipaddress.ip_address("10.0.0.1")


@pytest.mark.parametrize(
    ("client", "networks"),
    [
        ("192.0.2.7", ("192.0.2.7/32", "192.0.2.0/24")),
        ("2001:db8:1:2:3:4:5:6", ("2001:db8:1:2::/64", "2001:db8:1::/48")),
        (None, ("none", "none")),
    ],
)
def test_tries_are_counted_by_network(client, networks):
    assert networks_of(client and ipaddress.ip_address(client)) == networks


@pytest.mark.rule("C1")
@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "abc", f"Bearer {'x' * 201}"])
def test_what_is_no_bearer_token_is_unauthorized(header):
    with pytest.raises(Unauthorized):
        bearer(header)


@pytest.mark.rule("C1")
@pytest.mark.parametrize("header", ["Bearer abc", "bearer abc", "BEARER  abc ", " Bearer abc"])
def test_the_scheme_is_read_in_any_case(header):
    assert bearer(header) == "abc"
