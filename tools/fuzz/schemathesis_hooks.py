"""Settings for schemathesis that are not in the OpenAPI document: formats, callers, existing resources, and
permissions.

schemathesis loads this file by name. `tools.fuzz.contract` starts schemathesis, and reads the numbers of cases.
"""

from __future__ import annotations

import atexit
import ipaddress
import itertools
import json
import os
import re
import string
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import EnsureResourceAvailability

from svc.api.endpoint import ID_PREFIXES
from svc.ids import is_id, new_id
from tests.contract import path_of
from tests.http.who_may import ALIKE, ROWS
from tools.fuzz.callers import KINDS, WITH_KEY, Callers, kinds_of, refusal_of

CALLERS = Callers(json.loads(os.environ["SVC_FUZZ_WORLD"]))
# The header with the kind of credential that a case uses.
AS = "X-Fuzz-As"
PLACEHOLDER = "Bearer somebody's"
TOKENS = re.compile("sv(s|c|cw)_")
IN_TURN = itertools.cycle(dict.fromkeys(KINDS))
# The number of cases by operation, kind of credential, and status.
CASES: dict[str, dict[str, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))

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
# The suffix excludes common passwords and repeated characters. Half of the passwords resemble tokens, without spaces
# and non-ASCII letters.
PASSWORDS = (
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=40)
    | st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF), max_size=40)
).map("{}correct-horse".format)

schemathesis.openapi.format("idn-hostname", IDN_HOSTS)
schemathesis.openapi.format("iri", URLS)
schemathesis.openapi.format("email", st.tuples(LOCAL_PARTS, HOSTS).map("@".join))
schemathesis.openapi.format("cidr", NETWORKS)
schemathesis.openapi.format("password", PASSWORDS)


# Additional headers, so that requests without parameters also differ. The service ignores the forwarded address,
# because no proxy is trusted here.
AGENTS = st.text(st.sampled_from(string.ascii_letters + string.digits + "/. ;()"), min_size=1).map(str.strip)
ACCEPTED = ["*/*", "text/html;q=0.9, */*;q=0.1", "text/csv", "text/markdown", "image/webp", ";q"]
OTHER_HEADERS = st.fixed_dictionaries(
    {"User-Agent": AGENTS},
    optional={"Accept": st.sampled_from(ACCEPTED), "X-Forwarded-For": st.just("192.0.2.1") | ADDRESSES},
)


@schemathesis.auth(refresh_interval=None)
class AnyCredential:
    """Shows schemathesis that a credential exists. When the case is sent, the actual credential is inserted."""

    def get(self, case: Any, context: Any) -> str:
        return PLACEHOLDER

    def set(self, case: Any, data: str, context: Any) -> None:
        case.headers["Authorization"] = data


@schemathesis.hook
def before_generate_case(context: Any, strategy: Any) -> Any:
    """Draw the caller together with the case."""
    return st.builds(with_caller, strategy, st.sampled_from(kinds_of(context.operation.label)), OTHER_HEADERS)


def with_caller(case: Any, kind: str, more: dict[str, str]) -> Any:
    credential = (case.headers or {}).get("Authorization")
    if credential != PLACEHOLDER:  # schemathesis has omitted or invented the credential
        kind = "anonymous" if credential is None else "bad"
    case.headers = {**more, **(case.headers or {}), AS: kind}
    return case


@schemathesis.hook
def map_case(context: Any, case: Any) -> Any:
    """Assign callers in turn to cases without a caller, and replace most ids with ids of existing resources."""
    if AS not in (case.headers or {}):
        with_caller(case, next(IN_TURN), {})
    if case.operation.label == "POST /edge/push":
        case.body = with_plain_integers(case.body)
    if not one_in(4, case):
        case.path_parameters, case.query = with_known_ids(case.path_parameters), with_known_ids(case.query)
        if isinstance(case.body, dict):
            case.body = with_known(case.body) if is_valid(case) else with_known_ids(case.body)
    if is_valid(case):
        case.body = with_whole_split(case.body)
    return case


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: Any) -> None:
    """Insert values that are known only when the request is sent: the credential, and resources for this request."""
    if AS not in (case.headers or {}):  # the case is an example in the document
        with_caller(case, next(IN_TURN), {})
    kind, label = case.headers[AS], case.operation.label
    credential = CALLERS.headers(kind)
    may = is_valid(case) and refusal_of(kind, label) is None
    if label == "DELETE /v1/me" and case.body == CALLERS.leaving and "Authorization" in credential:
        credential = CALLERS.guest() if kind in ("session", "stranger", "unconfirmed") else credential
    elif label == "POST /auth/sign-up" and is_valid(case) and CALLERS.signs_up_again(case.body):
        case.body = {**case.body, "email": CALLERS.known["email"]}
    elif label == "POST /v1/accounts" and may:  # an install takes 1 s, and the check of an unknown token 15 s
        case.body = {**case.body, **(CALLERS.customer() if one_in(4, case) else CALLERS.connected)}
    elif label == "POST /v1/accounts/{account_id}/token" and may:
        case.path_parameters = with_known_ids(case.path_parameters)
        case.body = {**case.body, "bootstrap_token": CALLERS.bootstrap_token()}
    elif case.operation.method == "delete" and case.path_parameters:
        case.path_parameters = {
            name: CALLERS.deletable(kind, name, value) for name, value in case.path_parameters.items()
        }
    shown = case.headers.get("Authorization", "")
    if shown == PLACEHOLDER or TOKENS.search(shown):  # schemathesis may reuse values from a sign-in response
        del case.headers["Authorization"]
        case.headers.update(credential)
    if kind in WITH_KEY and case.operation.method != "get":
        case.headers.setdefault("Idempotency-Key", new_id("try"))


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Record the resources that a request created or ended, for later cases. Repeated responses are ignored."""
    done = 200 <= response.status_code < 300 and "idempotent-replayed" not in response.headers
    if done and response.request.method == case.operation.method.upper():
        CALLERS.answered(case.headers[AS], case.operation.label, case.path_parameters or {}, case.body, response)


@schemathesis.check
def matches_permission_table(ctx: Any, response: Any, case: Any) -> None:
    """Check that callers get exactly the errors that tests/http/who_may.py specifies for their permissions."""
    sent, kind, status = response.request, case.headers[AS], response.status_code
    if sent.method == case.operation.method.upper():
        CASES[case.operation.label][kind][status] += 1
    url = urlsplit(sent.url)
    endpoint = f"{sent.method} {path_of(unquote(url.path))}"
    if endpoint in ROWS or endpoint in ALIKE:
        code = response.json()["error"]["code"] if status >= 400 else None
        body = sent.body if isinstance(sent.body, bytes) else str(sent.body or "").encode()
        fault = CALLERS.fault(kind, endpoint, code, f"{url.path} {url.query} {body.decode(errors='replace')}")
        if fault is not None:
            raise AssertionError(f"Deviation from the table of permissions: {fault}")


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Ignore that a resource is missing if the caller does not own it; the permission table covers this case."""
    kind = case.headers[AS]
    return not isinstance(failure, EnsureResourceAvailability) or kind in ("session", "key")


@atexit.register
def write_counts() -> None:
    """Write the numbers of cases for `tools.fuzz.contract`."""
    Path("cases.json").write_text(json.dumps(CASES))


def is_valid(case: Any) -> bool:
    """Return True if schemathesis considers the body valid."""
    return (
        isinstance(case.body, dict) and case.meta is not None and not case.meta.is_negative_at(ParameterLocation.BODY)
    )


def one_in(number: int, case: Any) -> bool:
    """Return True for one in `number` cases. The result for a case is always the same."""
    key = json.dumps([case.path_parameters, case.query, case.body, case.headers], default=repr, sort_keys=True)
    return zlib.crc32(key.encode(errors="replace")) % number == 0


def with_plain_integers(value: Any) -> Any:
    """Replace floats such as 1.0 with integers.

    JSON Schema's `integer` accepts such floats, but JavaScript never sends them.
    """
    if isinstance(value, dict):
        return {name: with_plain_integers(field) for name, field in value.items()}
    if isinstance(value, list):
        return [with_plain_integers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def with_known_ids(fields: Any) -> Any:
    """Replace ids with ids of existing resources if possible. Tokens that were sent by email cannot be replaced."""
    if not isinstance(fields, dict):
        return fields
    return {
        name: CALLERS.known.get(name, value)
        if isinstance(value, str) and is_id(ID_PREFIXES.get(name, " "), value)
        else value
        for name, value in fields.items()
    }


def with_whole_split(body: dict[str, Any]) -> dict[str, Any]:
    """Make the shares of a split add up to 100, which the schema cannot express, and remove a split with one variant.

    Also remove the end of a period, which could be before the start.
    """
    split = body.get("split")
    if isinstance(split, list):
        shares = [100 - len(split) + 1, *[1] * (len(split) - 1)]
        whole = [{**variant, "share": share} for variant, share in zip(split, shares, strict=True)]
        body = {**body, "split": whole if len(split) > 1 else []}
    return {**body, "ends_at": None} if body.get("starts_at") and body.get("ends_at") else body


def with_known(body: dict[str, Any]) -> dict[str, Any]:
    """Replace passwords and similar fields with valid values, and hosts with hosts in the account's zone."""
    known = {name: CALLERS.known.get(name, value) for name, value in body.items()}
    if isinstance(known.get("host"), str):
        known["host"] = f"{known['host'].partition('.')[0][:40]}.{CALLERS.zone}"
    return known


@schemathesis.hook
def map_headers(context: Any, headers: Any) -> Any:
    """Return headers that send an Idempotency-Key in UTF-8, although the client encodes all headers as Latin-1."""
    if headers and isinstance(headers.get("Idempotency-Key"), str):
        headers["Idempotency-Key"] = headers["Idempotency-Key"].encode().decode("latin-1")
    return headers
