"""The client's address behind proxies, and the bearer's token: pure."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.errors import Unauthorized
from svc.http.credentials import address_allowed, bearer, client_address

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


@pytest.mark.rule("C1")
@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "abc", f"Bearer {'x' * 201}"])
def test_what_is_no_bearer_token_is_unauthorized(header):
    with pytest.raises(Unauthorized):
        bearer(header)


@pytest.mark.rule("C1")
@pytest.mark.parametrize("header", ["Bearer abc", "bearer abc", "BEARER  abc ", " Bearer abc"])
def test_the_scheme_is_read_in_any_case(header):
    assert bearer(header) == "abc"
