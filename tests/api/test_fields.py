"""The patterns of single fields, which clients read in the OpenAPI document: what is right fits, nothing else does."""

from __future__ import annotations

import ipaddress
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from svc.api import fields
from svc.api.links import NewLink
from svc.api.shape import parse_body
from svc.errors import Invalid

URL = TypeAdapter(fields.HttpsUrl)
HOST = TypeAdapter(fields.Host)
NETWORK = TypeAdapter(fields.Network)

groups = st.integers(0, 0xFFFF).map("{:x}".format)
nearly_ipv6 = st.tuples(st.lists(groups, max_size=9), st.integers(0, 9), st.booleans()).map(
    lambda parts: ":".join(parts[0][: parts[1]]) + ("::" if parts[2] else "") + ":".join(parts[0][parts[1] :])
)
nearly_ipv4 = st.lists(st.integers(0, 299), min_size=3, max_size=5).map(lambda parts: ".".join(map(str, parts)))
networks = st.tuples(nearly_ipv6 | nearly_ipv4 | st.ip_addresses().map(str), st.none() | st.integers(0, 140)).map(
    lambda parts: parts[0] if parts[1] is None else f"{parts[0]}/{parts[1]}"
)


def takes(adapter: TypeAdapter[str], text: str) -> bool:
    try:
        adapter.validate_python(text, strict=True)
    except ValidationError:
        return False
    return True


@given(networks)
def test_a_network_is_what_the_standard_library_takes_for_one(text):
    try:
        ipaddress.ip_network(text, strict=False)
        right = True
    except ValueError:
        right = False
    assert takes(NETWORK, text) == right


@pytest.mark.parametrize(
    "text", ["10.0.0.0/255.0.0.0", "fe80::1%eth0", "010.0.0.1", "::1/129", "1.2.3.4/33", " ::1", "::1\n", ""]
)
def test_a_network_has_one_form(text):
    assert not takes(NETWORK, text)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com",
        "HTTPS://Example.COM./",
        "https://example.com?a[]=1",
        "https://example.com#top",
        "https://user:secret@example.com:8443/a;b=c?d=e%20f#g",
        "https://localhost/",
        "https://a_b.example/",
        "https://[2001:db8::1]:65535/",
        "https://[::ffff:192.0.2.1]",
        "https://example.com:/",
        "https://192.0.2.1/",
    ],
)
def test_these_are_https_addresses(url):
    assert URL.validate_python(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "https:/example.com",
        "https:///a",
        "https://",
        "https://.example.com/",
        "https://a..b/",
        "https://example.com:0/",
        "https://example.com:65536/",
        "https://example.com:0443/",
        "https://example.com:x/",
        "https://a@b@example.com/",
        "https://ex%61mple.com/",
        "https://[::1/",
        "https://[::1%25eth0]/",
        "https://[v1.a]/",
        "https://[192.0.2.1]/",
        "https://exämple.com/",
        "https://example.com/ä",
        "https://example.com/a b",
        "https://example.com\\@other.example/",
        "https://example.com/\n",
        " https://example.com/",
        "https://example.com/" + "x" * 2_029,
    ],
)
def test_these_are_none(url):
    with pytest.raises(Invalid) as refused:
        parse_body(NewLink, json.dumps({"account_id": "acc_a", "url": url}).encode())
    [issue] = refused.value.details["issues"]  # type: ignore[index,misc]  # they are there
    assert issue["path"] == "url"
    assert issue["message"].startswith("must ")


@pytest.mark.parametrize(
    "host", ["example.com", "Shop.Example.COM.", "xn--bcher-kva.example", "a-b.c1.de", "1.example.com"]
)
def test_a_host_is_kept_in_lower_case_without_its_last_dot(host):
    assert HOST.validate_python(host) == host.lower().removesuffix(".")


@pytest.mark.parametrize(
    "host",
    [
        "example",
        "192.0.2.1",
        "a.1b",
        "-a.example",
        "a-.example",
        "a..example",
        "exämple.com",
        "a.example\n",
        "a" * 64 + ".example",
    ],
)
def test_these_are_no_hosts(host):
    assert not takes(HOST, host)
