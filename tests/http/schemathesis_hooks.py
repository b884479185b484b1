"""What schemathesis is told beyond the OpenAPI document: how our formats look, whose credential it has, what exists.

Its process loads this file by name; `tests.http.fuzz_contract` starts it.
"""

from __future__ import annotations

import ipaddress
import json
import os
import string
from typing import Any

import schemathesis
from hypothesis import strategies as st

# {"Authorization": …, "account_id": …, "site_id": …, "link_id": …} of a user with an account that works.
KNOWN = json.loads(os.environ["SVC_FUZZ_KNOWN"])

LABELS = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)
HOSTS = st.lists(LABELS, min_size=1, max_size=3).map(lambda labels: ".".join([*labels, "example"]))
IDN_LABELS = st.sampled_from(["münchen", "Straße", "例え", "пример", "faß-1", "ma\N{SOFT HYPHEN}il"])
IDN_HOSTS = HOSTS | st.tuples(IDN_LABELS, st.sampled_from([".", "\N{IDEOGRAPHIC FULL STOP}"]), HOSTS).map("".join)
PATH_CHARS = string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@%/"
ADDRESSES = st.ip_addresses().map(str)
NETWORKS = ADDRESSES | st.tuples(st.ip_addresses(v=4), st.integers(0, 32)).map(
    lambda pair: str(ipaddress.ip_network(pair, strict=False))
)
PORTS = st.just("") | st.integers(1, 65_535).map(":{}".format)
PATHS = st.text(st.sampled_from(PATH_CHARS + "ä例\N{SNOWMAN}"), max_size=40)
URLS = st.tuples(IDN_HOSTS, PORTS, PATHS, PATHS).map(lambda parts: "https://{}{}/{}?{}".format(*parts))
LOCAL_PARTS = st.from_regex(r"[a-z0-9!#$%&'*+/^_`{|}~-]{1,20}(\.[a-z0-9-]{1,10})?", fullmatch=True)
# With words behind it: none of the common ones, nor one character repeated. Half are such as tokens may be, without
# blanks or letters beyond ASCII.
PASSWORDS = (
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
    | st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=40)
).map("{}correct-horse".format)

schemathesis.openapi.format("idn-hostname", IDN_HOSTS)
schemathesis.openapi.format("iri", URLS)
schemathesis.openapi.format("email", st.tuples(LOCAL_PARTS, HOSTS).map("@".join))
schemathesis.openapi.format("cidr", NETWORKS)
schemathesis.openapi.format("password", PASSWORDS)


# Without an entry for sign-out, here or everywhere: it would end the session.
@schemathesis.auth().apply_to(path_regex="^/v1/").skip_for(method="DELETE", path_regex="^/v1/me/sessions")
class Session:
    """The page session of the user."""

    def get(self, case: Any, context: Any) -> str:
        return str(KNOWN["Authorization"])

    def set(self, case: Any, data: str, context: Any) -> None:
        case.headers = {**(case.headers or {}), "Authorization": data}


@schemathesis.hook
def before_generate_path_parameters(context: Any, strategy: Any) -> Any:
    """Half of the objects are there."""
    return st.one_of(strategy, strategy.map(with_known))


@schemathesis.hook
def before_generate_body(context: Any, strategy: Any) -> Any:
    """Half of the accounts that bodies name are there."""
    return st.one_of(strategy, strategy.map(with_known))


def with_known(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {name: KNOWN.get(name, field) for name, field in value.items()}


@schemathesis.hook
def map_headers(context: Any, headers: Any) -> Any:
    """Headers are sent as Latin-1; an Idempotency-Key is UTF-8."""
    if headers and isinstance(headers.get("Idempotency-Key"), str):
        headers["Idempotency-Key"] = headers["Idempotency-Key"].encode().decode("latin-1")
    return headers
