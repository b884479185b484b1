"""Tests of the client's address behind proxies, and of the bearer token."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc.errors import Unauthorized
from svc.http.serving.credentials import address_allowed, bearer, client_address, networks_of
from svc.security.ip_networks import network_of

PROXIES = [network_of(text) for text in ("10.0.0.0/8", "fd00::/8")]


@pytest.mark.rule("C5")
@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.9", [], "203.0.113.9"),
        ("203.0.113.9", ["198.51.100.7"], "203.0.113.9"),  # the peer is not a trusted proxy, so its header is ignored
        ("10.1.2.3", ["198.51.100.7"], "198.51.100.7"),
        # the client itself has sent the first address, so this address is not trusted
        ("10.1.2.3", ["6.6.6.6, 198.51.100.7"], "198.51.100.7"),
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
        ("", ["198.51.100.7"], None),
        ("/run/svc.sock", ["198.51.100.7"], None),
        ("::ffff:203.0.113.9", ["198.51.100.7"], "203.0.113.9"),
        # a trusted proxy added an empty address, so it did not know the client's address
        ("10.1.2.3", ["198.51.100.7,"], None),
        ("10.1.2.3", ["198.51.100.7, 10.0.0.1:80, [fd00::2]:80, ::ffff:10.0.0.3"], "198.51.100.7"),
        ("fd00::1%eth0", ["fe80::7%eth1"], "fe80::7"),
        ("10.1.2.3", ["[2001:db8::1]"], "2001:db8::1"),
        ("10.1.2.3", ["[::ffff:198.51.100.7]:1"], "198.51.100.7"),
        ("10.1.2.3", ["\t198.51.100.7\t"], "198.51.100.7"),
        ("10.1.2.3", ["for=198.51.100.7"], None),
        ("10.1.2.3", ['"198.51.100.7"'], None),
        ("10.1.2.3", ["198.51.100.07"], None),  # some parsers would read the leading zero as octal notation
        ("10.1.2.3", ["3325256711"], None),
        ("10.1.2.3", ["0xc6336407"], None),
        ("10.1.2.3", ["198.51.100.7\x00"], None),
        ("10.1.2.3", ["\xb9\xb9.1.1.1"], None),
        ("10.1.2.3", ["198.51.100.7/32"], None),
    ],
)
def test_client_is_the_last_address_that_is_not_a_trusted_proxy(peer, forwarded, expected):
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
        ("198.51.100.7", ["::/0"], False),
        ("198.51.100.7", ["::ffff:198.51.100.7"], True),
        ("198.51.100.7", ["::ffff:198.51.100.0/120"], True),
        ("198.51.101.7", ["::ffff:198.51.100.0/120"], False),
        ("198.51.100.7", ["::ffff:0:0/96"], True),
        ("198.51.100.7", ["::198.51.100.7"], False),  # this notation is deprecated
    ],
)
def test_allow_ips_accepts_addresses_and_networks_of_both_families(client, allow_ips, allowed):
    assert address_allowed(client and ipaddress.ip_address(client), allow_ips) is allowed


@pytest.mark.rule("C5")
@given(
    spoofed=st.lists(st.text(st.characters(codec="ascii"), max_size=20), max_size=4),
    real=st.ip_addresses(v=4).filter(lambda address: address not in PROXIES[0]),
)
def test_client_cannot_change_its_address_through_the_header(spoofed, real):
    header = ", ".join([*spoofed, str(real)])
    assert client_address("10.1.2.3", [header], PROXIES) == real


@pytest.mark.rule("C5")
@given(
    lines=st.lists(st.text(st.characters(codec="latin-1"), max_size=60), max_size=4),
    peer=st.ip_addresses(v=4).filter(lambda address: address not in PROXIES[0]),
)
def test_header_of_an_untrusted_peer_is_ignored_and_no_header_of_a_proxy_raises(lines, peer):
    for own in (str(peer), f"::ffff:{peer}"):
        assert client_address(own, lines, PROXIES) == peer
    client_address("10.1.2.3", lines, PROXIES)


def test_trusted_proxies_may_be_written_as_ipv4_mapped_ipv6():
    proxies = [network_of("::ffff:10.0.0.0/104")]
    assert client_address("10.1.2.3", ["198.51.100.7"], proxies) == ipaddress.ip_address("198.51.100.7")


def test_only_the_end_of_a_long_header_is_read():
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
def test_networks_of_a_client(client, networks):
    assert networks_of(client and ipaddress.ip_address(client)) == networks


@pytest.mark.rule("C1")
@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "abc", f"Bearer {'x' * 201}"])
def test_header_without_bearer_token_is_unauthorized(header):
    with pytest.raises(Unauthorized):
        bearer(header)


@pytest.mark.rule("C1")
@pytest.mark.parametrize("header", ["Bearer abc", "bearer abc", "BEARER  abc ", " Bearer abc"])
def test_scheme_is_case_insensitive(header):
    assert bearer(header) == "abc"
