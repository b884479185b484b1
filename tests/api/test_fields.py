"""Tests of the validation of single fields, and of their patterns in the OpenAPI document."""

from __future__ import annotations

import ipaddress
import json
import random
import re
import subprocess
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from edge_worker.tools.node import node_command
from svc.api import fields
from svc.api.link_texts import parse_tag
from svc.api.links import NewLink
from svc.api.shape import parse_body
from svc.errors import Invalid

URL = TypeAdapter(fields.HttpsUrl)
HOST = TypeAdapter(fields.Host)
NETWORK = TypeAdapter(fields.Network)
PATH = TypeAdapter(fields.PathPrefix)

groups = st.integers(0, 0xFFFF).map("{:x}".format)
nearly_ipv6 = st.tuples(st.lists(groups, max_size=9), st.integers(0, 9), st.booleans()).map(
    lambda parts: ":".join(parts[0][: parts[1]]) + ("::" if parts[2] else "") + ":".join(parts[0][parts[1] :])
)
nearly_ipv4 = st.lists(st.integers(0, 299), min_size=3, max_size=5).map(lambda parts: ".".join(map(str, parts)))
networks = st.tuples(nearly_ipv6 | nearly_ipv4 | st.ip_addresses().map(str), st.none() | st.integers(0, 140)).map(
    lambda parts: parts[0] if parts[1] is None else f"{parts[0]}/{parts[1]}"
)


def accepts(adapter: TypeAdapter[str], text: str) -> bool:
    try:
        adapter.validate_python(text, strict=True)
    except ValidationError:
        return False
    return True


@given(networks)
def test_network_is_accepted_if_the_standard_library_accepts_it(text):
    try:
        ipaddress.ip_network(text, strict=False)
        right = True
    except ValueError:
        right = False
    assert accepts(NETWORK, text) == right


@pytest.mark.parametrize(
    "text", ["10.0.0.0/255.0.0.0", "fe80::1%eth0", "010.0.0.1", "::1/129", "1.2.3.4/33", " ::1", "::1\n", ""]
)
def test_other_notations_of_networks_are_refused(text):
    assert not accepts(NETWORK, text)


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
def test_https_urls_are_accepted(url):
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
        "https://example.com/a b",
        "https://example.com\\@other.example/",
        "https://example.com/\n",
        " https://example.com/",
        "https://example.com/" + "x" * 2_029,
    ],
)
def test_other_urls_are_refused(url):
    with pytest.raises(Invalid) as refused:
        parse_body(NewLink, json.dumps({"account_id": "acc_a", "url": url}).encode())
    [issue] = refused.value.details["issues"]  # type: ignore[index,misc]  # both are set
    assert issue["path"] == "url"
    assert issue["message"].startswith("must ")


@pytest.mark.parametrize(
    "host", ["example.com", "Shop.Example.COM.", "xn--bcher-kva.example", "a-b.c1.de", "1.example.com"]
)
def test_host_is_stored_in_lower_case_without_trailing_dot(host):
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
        "a.example\n",
        "a" * 64 + ".example",
    ],
)
def test_invalid_hosts_are_refused(host):
    assert not accepts(HOST, host)


# Hosts as people paste them, with their ASCII form, or None if the host is invalid.
PASTED_HOSTS = {
    "münchen.example": "xn--mnchen-3ya.example",
    "MÜNCHEN.Example.": "xn--mnchen-3ya.example",
    "straße.example": "xn--strae-oqa.example",  # IDNA 2008 distinguishes this host from strasse.example
    "faß\N{IDEOGRAPHIC FULL STOP}example\N{FULLWIDTH FULL STOP}": "xn--fa-hia.example",
    "ｗｗｗ．ｅｘａｍｐｌｅ．ｃｏｍ": "www.example.com",
    "ma\N{SOFT HYPHEN}il.example": "mail.example",
    "ma\N{ZERO WIDTH SPACE}il.example": "mail.example",
    "mu\N{COMBINING DIAERESIS}nchen.example": "xn--mnchen-3ya.example",  # decomposed form, as macOS writes it
    "例え.テスト": "xn--r8jz45g.xn--zckzah",
    "пример.example": "xn--e1afmkfd.example",
    "אב.example": "xn--4dbc.example",
    "Ⅷ.example": "viii.example",
    "1אב.example": None,  # labels of right-to-left scripts must not begin with a digit
    "a\N{RIGHT-TO-LEFT OVERRIDE}b.example": None,
    "a\N{ZERO WIDTH JOINER}b.example": None,
    "i❤.example": None,  # IDNA does not allow this character, but the owner of such a host can enter its ASCII form
    "ü..example": None,
    ".ü.example": None,
    "\N{SOFT HYPHEN}.example": None,
    "-ü.example": None,
    "ü-.example": None,
    "ü_a.example": None,
    "*.ü.example": None,
    "ü" * 60 + ".example": None,  # a label has at most 63 characters in its ASCII form
    "ü." * 126 + "example": None,
    "１９２．０．２．１": None,
    "ü.example／x": None,
    "ü.example:443": None,
    "ü@ü.example": None,
    "ü.example\n": None,
    "\N{NO-BREAK SPACE}ü.example": None,
}


@pytest.mark.parametrize(("pasted", "kept"), PASTED_HOSTS.items())
def test_international_host_is_stored_in_ascii(pasted, kept):
    assert (HOST.validate_python(pasted) if accepts(HOST, pasted) else None) == kept
    assert kept is None or matches_published(HOST, pasted)


@pytest.mark.parametrize(
    ("pasted", "kept"),
    [
        ("https://münchen.example", "https://xn--mnchen-3ya.example"),
        ("HTTPS://MÜNCHEN.example:8443/?#", "HTTPS://xn--mnchen-3ya.example:8443/?#"),
        ("https://example.com/ä", "https://example.com/%C3%A4"),
        ("https://example.com/%C3%A4/ä?ö=%FC&x=ü#ß", "https://example.com/%C3%A4/%C3%A4?%C3%B6=%FC&x=%C3%BC#%C3%9F"),
        ("https://example.com/例え/😀", "https://example.com/%E4%BE%8B%E3%81%88/%F0%9F%98%80"),
        ("https://ü:ß@a_b.ü.example/", "https://%C3%BC:%C3%9F@a_b.xn--tda.example/"),
        ("https://[2001:db8::1]/ü", "https://[2001:db8::1]/%C3%BC"),
        ("https://example.com/\N{RIGHT-TO-LEFT OVERRIDE}gpj", "https://example.com/%E2%80%AEgpj"),
        ("https://example.com/" + "ü" * 338, "https://example.com/" + "%C3%BC" * 338),
        ("https://example.com/" + "ü" * 339, None),  # 2,054 characters
        ("https://i❤.example/", None),
        # Characters that normalize to "/", "@" or "?" change the host.
        ("https://example.com／.go.example.org/", None),
        ("https://example.com？.ü.example/", None),
        ("https://example.com＠ü.example/", None),
        ("https://example.com：443ü/", None),
        ("https://ü.example:４４３/", None),
        ("https://ü.example\\@example.org/", None),
        ("https://ex%61mple.ü.example/", None),
        ("https：//example.com/", None),
        ("https:／／example.com/", None),
        ("httpſ://example.com/", None),
        ("http://ü.example/", None),
        ("https://ü.example/a b", None),
        ("https://ü.example/\n", None),
        ("https://ü.example/\x00", None),
    ],
)
def test_international_url_is_stored_in_ascii(pasted, kept):
    assert (URL.validate_python(pasted) if accepts(URL, pasted) else None) == kept
    assert kept is None or matches_published(URL, pasted)


def matches_published(adapter: TypeAdapter[str], text: str) -> bool:
    """Return True if the pattern in the OpenAPI document matches the text."""
    return re.search(adapter.json_schema()["pattern"], text) is not None


odd = st.text(
    st.sampled_from("aZ09-_.。．/:@?#[]%\\ üßÜ例א❤／＠\N{SOFT HYPHEN}\N{ZERO WIDTH JOINER}\ud800\n"), max_size=20
)


@given(odd | st.text(max_size=20))
def test_any_text_is_refused_or_stored_in_a_form_that_matches_the_published_pattern(text):
    for adapter, pasted in ((HOST, f"{text}.example"), (URL, f"https://{text}.example/{text}"), (URL, text)):
        if accepts(adapter, pasted):
            kept = adapter.validate_python(pasted)
            assert kept.isascii()
            assert adapter.validate_python(kept) == kept
            assert matches_published(adapter, pasted)
            assert matches_published(adapter, kept)


def parsed_by_node(texts: list[str]) -> list[Any]:
    """Return each text's href and hostname according to Node's URL parser, or None if the text is not a URL."""
    program = (
        "const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));"
        "const read = (t) => { try { const u = new URL(t); return [u.href, u.hostname]; } catch { return null; } };"
        "console.log(JSON.stringify(texts.map(read)));"
    )
    text = json.dumps(texts).encode()
    ended = subprocess.run(node_command("-e", program), input=text, stdout=subprocess.PIPE, check=True)
    found: list[Any] = json.loads(ended.stdout)
    return found


def test_stored_url_leads_where_the_pasted_one_would():
    chance = random.Random(7)
    signs = "abzAZ019-_.。üßÜéİıſΣς例え한글אבⅧ①ﬁ／＠？％\N{SOFT HYPHEN}\N{COMBINING DIAERESIS}\N{ZERO WIDTH JOINER}"
    paths = "aZ09-._~!$&'()*+,;=:@%/?#üß例😀\N{RIGHT-TO-LEFT OVERRIDE}"
    pasted = []
    for _ in range(20_000):
        host = "".join(chance.choices(signs, k=chance.randint(1, 8)))
        pasted.append(f"https://{host}.example/" + "".join(chance.choices(paths, k=chance.randint(0, 10))))
    accepted = [text for text in pasted if accepts(URL, text) and not text.isascii()]
    kept = [URL.validate_python(text) for text in accepted]
    assert len(accepted) > 2_000
    wanted, found = parsed_by_node(accepted), parsed_by_node(kept)
    differing = [each for each in zip(accepted, kept, wanted, found, strict=True) if each[2] != each[3]]
    assert not differing
    for text, read in zip(accepted, wanted, strict=True):
        host = text.split("/")[2]
        if accepts(HOST, host):
            assert HOST.validate_python(host) == read[1]


@pytest.mark.rule("S4")
def test_excluded_path_is_encoded_as_by_a_browser():
    chance = random.Random(7)
    # The list contains no dot: browsers resolve the segments `.` and `..`, so paths of pages never contain them.
    signs = "aZ09-_~!$&'()*+,;=:@%/|[]^`{}\"<> üß例😀\x80\N{RIGHT-TO-LEFT OVERRIDE}"
    pasted = ["/a" + "".join(chance.choices(signs, k=chance.randint(0, 12))) for _ in range(5_000)]
    kept = [PATH.validate_python(text) for text in pasted]
    origin = "https://a.example"
    wanted = [read[0].removeprefix(origin) for read in parsed_by_node([origin + text for text in pasted])]
    assert kept == wanted
    assert all(matches_published(PATH, text) and PATH.validate_python(text) == text for text in kept)


def test_long_tag_is_refused_before_the_slower_check_of_its_characters():
    with pytest.raises(fields.Wrong) as refused:
        parse_tag("a" * 20_000 + ",")
    assert refused.value.code == "too_long"
