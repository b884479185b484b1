"""Invalid requests get an error object and have no effect."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, cast, get_args
from urllib.parse import urlencode

import pytest
from pydantic_core import ValidationError
from pydantic_core._pydantic_core import list_all_errors

from svc.api import shape
from svc.api.keys import NewKey
from svc.api.links import NewLink
from svc.api.shape import Body, parse_body
from svc.api.sites import NewSite
from svc.errors import CATALOGUE, Code, Invalid, IssueCode, ServiceError
from svc.http.serving import app as app_module
from svc.logs import JsonFormatter
from svc.store import links, sites, users
from tests.cases import cases
from tests.http.conftest import EDGE_ACCOUNT, World

if TYPE_CHECKING:
    from svc.model import User

NUL, DEEP = "a\x00b", "[" * 100_000
HUGE = 10**400

GOOD: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/v1/keys"): {"scopes": ["links"], "allow_accounts": [EDGE_ACCOUNT], "allow_ips": ["192.0.2.0/24"]},
    ("POST", "/v1/accounts"): {"edge_account_id": EDGE_ACCOUNT, "bootstrap_token": "token"},
    ("PUT", "/v1/accounts/{account}/link-host"): {"host": "go.example.com"},
    ("POST", "/v1/sites"): {"account_id": "{account}", "host": "shop.example.com", "excluded_paths": ["/admin"]},
    ("PATCH", "/v1/sites/site_aaaaaaaaaaaaaaaaaaaa"): {"excluded_paths": ["/admin"]},
    ("POST", "/v1/links"): {
        "account_id": "{account}",
        "url": "https://example.org/",
        "code": "abc",
        "rules": [],
        "title": "Sale",
        "note": "Flyer",
        "tags": ["Spring"],
        "forward_query": True,
        "starts_at": "2026-11-21T00:00:00Z",
        "ends_at": "2026-11-22T00:00:00Z",
        "after_url": "https://example.org/over",
        "split": [{"url": "https://example.org/1", "share": 50}, {"url": "https://example.org/2", "share": 50}],
    },
    ("POST", "/v1/links/bulk"): {"account_id": "{account}", "links": [{"url": "https://example.org/"}]},
    ("PATCH", "/v1/links/bulk"): {"ids": ["lnk_aaaaaaaaaaaaaaaaaaaa"], "add_tags": ["a"], "remove_tags": ["b"]},
    ("DELETE", "/v1/links/bulk"): {"ids": ["lnk_aaaaaaaaaaaaaaaaaaaa"]},
    ("POST", "/v1/notes"): {"account_id": "{account}", "day": "2026-11-21", "text": "Newsletter sent"},
    ("PUT", "/v1/accounts/{account}/mailings"): {
        "weekly": True,
        "monthly": True,
        "recipients": [{"email": "a@b.example"}],
    },
    ("POST", "/v1/sites/site_aaaaaaaaaaaaaaaaaaaa/totals"): {"file": "ZGF5LHZpZXdz"},
    ("POST", "/v1/accounts/{account}/shares"): {"name": "Shop"},
    ("PATCH", "/v1/shares/shr_aaaaaaaaaaaaaaaaaaaa"): {"until": "2099-12-31"},
    ("POST", "/s/shs_aaaaaaaaaaaaaaaaaaaa/report"): {"password": "long enough"},
    ("DELETE", "/v1/me"): {"password": "long enough"},
    ("POST", "/v1/me/email"): {"email": "another@example.com", "password": "long enough"},
    ("POST", "/v1/me/password"): {"old": "long enough", "new": "longer than that"},
    ("POST", "/auth/sign-up"): {"email": "new@example.com", "password": "long enough"},
    ("POST", "/auth/sign-in"): {"email": "new@example.com", "password": "long enough"},
    ("POST", "/auth/confirm"): {"token": "abc"},
    ("POST", "/auth/confirm/resend"): {"email": "new@example.com"},
    ("POST", "/auth/password-reset"): {"email": "new@example.com"},
    ("POST", "/auth/password-reset/confirm"): {"token": "abc", "password": "long enough"},
}
EMPTY = [
    ("POST", "/v1/accounts/{account}/install"),
    ("DELETE", "/v1/keys/key_aaaaaaaaaaaaaaaaaaaa"),
    ("DELETE", "/v1/me/email"),
    ("DELETE", "/v1/me/sessions/ses_aaaaaaaaaaaaaaaaaaaa"),
    ("DELETE", "/v1/sites/site_bbbbbbbbbbbbbbbbbbbb"),
    ("POST", "/v1/sites/site_aaaaaaaaaaaaaaaaaaaa/rotate"),
    ("POST", "/auth/refresh"),
    ("POST", "/auth/sign-out"),
]
ENDPOINTS = [*GOOD, *EMPTY]

NOT_AN_OBJECT: list[bytes] = [
    b"{",
    b"[]",
    b"null",
    b'"text"',
    b"1",
    b"NaN",
    b"\xff\xfe",
    b"\xef\xbb\xbf{}",
    b'{"a":"\\ud800"}',
    b'{"\\ud800":1}',
    DEEP.encode()[:50_000],
    b'{"a":' + DEEP.encode()[:50_000],
    b"{'a': 1}",
    b'{"a": 1,}',
    b'{"unknown": 1}',
    b'{"unknown\\u0000": "\\u0000"}',
    b'{"' + b"x" * 50_000 + b'": 1}',
    b"{" + b",".join(b'"%d": 1' % n for n in range(5_000)) + b"}",
]


LARGE = (
    "/v1/keys",
    "/v1/sites",
    "/v1/sites/site_aaaaaaaaaaaaaaaaaaaa",
    "/v1/notes",
    "/v1/accounts/{account}/link-host",
    "/v1/accounts/{account}/shares",
    "/v1/shares/shr_aaaaaaaaaaaaaaaaaaaa",
    "/v1/accounts/{account}/mailings",
)
MAX_BYTES = {
    "/v1/links": 100_000,
    "/v1/links/bulk": 100_000,
    "/v1/sites/site_aaaaaaaaaaaaaaaaaaaa/totals": 100_000,
}  # the value of the setting max_body_bytes in these tests


def most_bytes(path: str) -> int:
    return MAX_BYTES.get(path, 65_536 if path in LARGE else 4_096)


def is_refused(response: Any, path: str, raw: bytes) -> None:
    """Check that the body was rejected, either as invalid or because it exceeds the endpoint's limit."""
    if len(raw) > most_bytes(path):
        is_error(response, 413, "payload_too_large")
    else:
        is_error(response, 400, "invalid_request")
        assert 1 <= len(response.body["error"]["details"]["issues"]) <= 20


def is_error(response: Any, status: int, code: Code) -> None:
    assert (response.status, response.code) == (status, code), response.raw
    error = response.body["error"]
    assert set(response.body) == {"error"}
    assert set(error) <= {"code", "message", "details"}
    assert error["message"]
    assert CATALOGUE[code].status == status
    assert len(response.raw) < 10_000
    assert response.headers["X-Request-Id"].startswith("req_")


async def owner(world: World) -> tuple[User, dict[str, str], str]:
    user = await world.user()
    account = await world.account(user, link_host="go.example.com")
    return user, await world.session(user), account.id


async def nothing_was_done(world: World, user: User) -> None:
    assert await world.store.read(sites.count_sites(user.id)) == 0
    assert await world.store.read(links.count_links(user.id)) == 0
    assert await world.store.read(users.find_user("new@example.com")) is None
    assert world.supervisor.asked == []


@pytest.mark.rule("G8")
async def test_body_that_is_not_a_valid_object_is_an_invalid_request(world):
    user, session, account = await owner(world)
    for method, path in ENDPOINTS:
        for raw in NOT_AN_OBJECT:
            response = await world.call(
                method,
                path.replace("{account}", account),
                headers={**session, "Content-Type": "application/json"},
                data=raw,
            )
            is_refused(response, path, raw)
    await nothing_was_done(world, user)


WRONG_VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    HUGE,
    1.5,
    "",
    " ",
    NUL,
    "x" * 90_000,
    [],
    [[]],
    {},
    {"a": 1},
    ["x"],
    [None],
    ["\x00"],
]


@pytest.mark.rule("G8")
async def test_field_of_the_wrong_type_is_named_in_the_error(world):
    user, session, account = await owner(world)
    for (method, path), good in GOOD.items():
        world.clock.advance_s(60)  # advance the clock, so that the requests stay within the limit per minute
        for name in good:
            for wrong in WRONG_VALUES:
                if (name, wrong) in ALLOWED or (name == "code" and wrong is None):
                    continue
                if method == "PATCH" and wrong is None:
                    continue  # PATCH accepts null, which means the same as a missing field
                if path == "/v1/links/bulk" and name == "links" and isinstance(wrong, list) and wrong:
                    continue  # in a bulk request, each row has a separate error
                body = json.dumps({**good, name: wrong}).replace("{account}", account)
                response = await world.call(
                    method,
                    path.replace("{account}", account),
                    headers={**session, "Content-Type": "application/json"},
                    data=body,
                )
                if name == "account_id" and isinstance(wrong, str) and wrong != NUL and len(wrong) < 100:
                    is_error(response, 404, "not_found")
                    continue
                if name == "password" and path.endswith("sign-in") and isinstance(wrong, str) and len(wrong) < 100:
                    assert response.code in ("unauthorized", "rate_limited")
                    continue
                if (
                    (name == "old" or (name == "password" and path.startswith("/v1/me")))
                    and isinstance(wrong, str)
                    and len(wrong) < 100
                ):
                    assert response.code in ("invalid_password", "rate_limited")
                    continue
                if name == "name" and isinstance(wrong, str) and response.status == 201:
                    continue  # the field is skipped, because almost every text is a valid name
                if name == "password" and path.startswith("/s/") and isinstance(wrong, str) and len(wrong) < 100:
                    assert response.code in ("not_found", "rate_limited", "invalid_request")
                    continue
                if name == "token" and isinstance(wrong, str) and len(wrong) < 100:
                    assert response.code in ("invalid_request", "rate_limited")
                    continue
                is_refused(response, path, body.encode())
                if response.status == 400 and not body.count("9" * 100):
                    assert response.body["error"]["details"]["issues"][0]["path"].split(".")[0] in (name, "")
    await nothing_was_done(world, user)


ALLOWED: list[tuple[str, Any]] = [
    ("allow_accounts", None),
    ("allow_accounts", []),
    ("allow_ips", None),
    ("allow_ips", []),
    ("excluded_paths", []),
    ("rules", []),
    *(("title", text) for text in (None, "", " ")),
    *(("note", text) for text in (None, "", " ")),
    ("tags", []),
    ("tags", ["x"]),
    ("ids", ["x"]),
    *((name, tags) for name in ("add_tags", "remove_tags") for tags in ([], ["x"])),
    ("forward_query", True),
    ("forward_query", False),
    *((name, value) for name in ("starts_at", "ends_at", "after_url") for value in (None, "")),
    ("split", []),
    ("weekly", True),
    ("monthly", True),
    ("recipients", []),
    ("file", "x" * 90_000),  # this text is valid base64, so only its length is wrong
]


@pytest.mark.rule("G8")
@cases(
    "path",
    [
        "/",
        "/v1",
        "/v1/",
        "/v1/nothing",
        "/v1/sites/",
        "/v1//sites",
        "/v1/sites/%00",
        "/v1/sites/..%2f",
        "/v1/sites/site_%F0%9F%98%80",
        "/v1/sites/" + "x" * 3000,
        "/v1/sites/acc_aaaaaaaaaaaaaaaaaaaa",
        "/v1/links/lnk_aaaaaaaaaaaaaaaaaaaa/qr.svg",
        "/v1/links/lnk_%ff/report",
        "/v1/accounts/acc_aaaaaaaaaaaaaaaaaaa1",
        "/v1/accounts/%27%20or%201=1/zones",
        "/openapi",
    ],
)
async def test_unknown_path_or_id_is_not_found(world, path):
    session = await world.session(await world.user())
    is_error(await world.call("GET", path, headers=session), 404, "not_found")


@pytest.mark.rule("G8")
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/v1/sites", "GET, HEAD, POST"),
        ("PUT", "/v1/me", "DELETE, GET, HEAD, PATCH"),
        ("PUT", "/v1/links/bulk", "DELETE, PATCH, POST"),
        ("OPTIONS", "/v1/sites", "GET, HEAD, POST"),
        ("GET", "/auth/sign-in", "POST"),
        ("TRACE", "/healthz", "GET, HEAD"),
        ("FOO", "/v1/links", "GET, HEAD, POST"),
    ],
)
async def test_unsupported_method_gets_405(world, method, path, allowed):
    response = await world.call(method, path)
    is_error(response, 405, "method_not_allowed")
    assert response.headers["Allow"] == allowed


@pytest.mark.rule("C13")
async def test_body_over_the_limit_of_its_endpoint_is_too_large(world):
    user, session, account = await owner(world)
    for method, path in ENDPOINTS:
        most = most_bytes(path)
        for size, chunked in (
            (most, False),
            (most + 1, False),
            (most + 1, True),
            (world.config.http.max_body_bytes, True),
        ):
            headers = {**session, "Content-Type": "application/json"}
            if chunked:
                headers["Transfer-Encoding"] = "chunked"
            raw = b"{" + b" " * (size - 2) + b"]"
            response = await world.call(method, path.replace("{account}", account), headers=headers, data=raw)
            is_refused(response, path, raw)
    await nothing_was_done(world, user)


@pytest.mark.rule("C13")
async def test_largest_valid_bodies_are_accepted(world):
    _, session, account = await owner(world)
    country = ["DE"] * 300
    rule = {
        "url": "https://example.org/" + "x" * 2_028,
        "countries": country,
        "devices": ["mobile", "desktop"],
        "languages": [f"{'x' * 8}-{'x' * 8}-{'x' * 8}-a{n:06}" for n in range(30)],
        "os": ["iOS", "Android", "Windows", "macOS", "Linux"],
        "query": {"name": "x" * 100, "value": "x" * 200},
    }
    for path, body in (
        ("/v1/sites", {"account_id": account, "host": "a.example.com", "excluded_paths": ["/" + "x" * 999] * 50}),
        (
            "/v1/links",
            {
                "account_id": account,
                "url": rule["url"],
                "code": "x" * 32,
                "rules": [rule] * 10,
                "title": "\U0001f469" * 200,
                "note": "\U0001f469" * 2_000,
                "tags": [f"{n}" + "\U0001f469" * 39 for n in range(10)],
            },
        ),
        (
            "/v1/links",
            {
                "account_id": account,
                "url": rule["url"],
                "rules": [rule] * 10,
                "after_url": rule["url"],
                "split": [{"url": rule["url"], "share": 10}] * 10,
            },
        ),
        ("/v1/notes", {"account_id": account, "day": "2026-11-21", "text": "\U0001f469" * 500}),
        (
            f"/v1/accounts/{account}/shares",
            {
                "name": "\U0001f469" * 100,
                "password": "\U0001f469\U0001f680x" * 66,
                "until": "2099-12-31",
                "periods": ["today", "7d", "30d", "yesterday", "month", "last_month", "12mo", "year", "all"],
                "lists": True,
                "embed": [f"https://{'.'.join(['x' * 61] * 3)}.{n}.example:65535" for n in range(10)],
            },
        ),
        (
            "/v1/keys",
            {
                "scopes": ["links", "sites", "accounts", "reports"],
                "allow_accounts": [f"{n:032x}" for n in range(1_000)],
                "allow_ips": [f"2001:db8:{n:x}:2222:3333:4444:5555:6666/128" for n in range(100)],
            },
        ),
    ):
        response = await world.call("POST", path, body, headers=session)
        assert response.status in (201, 202), response.raw


def issues_of(model: type[Body], raw: bytes) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refused:
        parse_body(model, raw)
    details = cast("dict[str, Any]", refused.value.details)
    return [(issue["path"], issue["message"]) for issue in details["issues"]]


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"{" + b",".join(b'"%d":0' % n for n in range(51)) + b"}", "has too many fields or items"),
        (b'{"scopes":[' + b",".join([b"0"] * 4_001) + b"]}", "has too many fields or items"),
        (
            b'{"rules":[{' + b",".join(b'"%d":0' % n for n in range(51)) + b"}]}",
            "has too many fields or items",
        ),
        (b"[" + b",".join([b"{}"] * 101) + b"]", "has too many lists and objects"),
        (b"[[" + b"],[".join([b"{},{}"] * 40) + b"]]", "has too many lists and objects"),
        (b"[" * 9 + b"]" * 9, "is nested too deeply"),
        (b"[" * 1_000 + b"]" * 1_000, "must be valid JSON"),
    ],
)
@pytest.mark.parametrize("model", [NewKey, NewLink, NewSite])
def test_expensive_body_is_refused_early(model, raw, text):
    assert issues_of(model, raw) == [("", text)]


def test_only_the_first_invalid_item_of_a_list_is_reported():
    zeros = [0] * 900
    assert issues_of(NewKey, json.dumps({"scopes": zeros}).encode()) == [
        ("scopes.0", "must be one of 'accounts', 'sites', 'links' or 'reports'")
    ]
    for name in ("allow_accounts", "allow_ips"):
        found = issues_of(NewKey, json.dumps({"scopes": ["links"], name: zeros}).encode())
        assert found == [(f"{name}.0", "must be a string")]
    for name, path in (("rules", "rules.0"), ("excluded_paths", "excluded_paths.0")):
        model: type[Body] = NewLink if name == "rules" else NewSite
        assert [where for where, _ in issues_of(model, json.dumps({name: zeros}).encode())].count(path) == 1


def test_last_value_of_a_repeated_field_counts():
    raw = b'{"scopes":["nothing"],' + b'"scopes":["sites"],' * 1_000 + b'"scopes":["links"]}'
    assert parse_body(NewKey, raw).scopes == ("links",)
    assert issues_of(NewKey, b"{" + b'"a":0,' * 1_000 + b'"scopes":["links"]}') == [
        ("a", "is not a field of this request")
    ]


def test_issues_contain_no_text_of_the_library():
    """Every kind of validation error has its own message, which contains none of the library's text."""
    for kind in list_all_errors():
        found: dict[str, Any] = {"type": kind["type"], "loc": ("field",), "input": 1}
        if "example_context" in kind:
            found["ctx"] = kind["example_context"] or {}
        if kind["type"] in ("value_error", "assertion_error"):
            found["ctx"] = {"error": ValueError("words of a library")}
        error = ValidationError.from_exception_data("Body", [cast("Any", found)])
        [(path, text, code, _)] = shape.issues_of(error)
        assert path == "field"
        assert code in get_args(IssueCode)
        assert text != error.errors()[0]["msg"], kind["type"]
        assert not re.search(
            r"Value error|Input|should|Tuple|String|a valid |dictionary|words of a library|[{}]", text
        ), text


def test_errors_of_urls_have_our_message():
    for url in ("https://[::1", "https://a:99999/", "https://a:b/", "https://[::1x]/", "https://[v1.a]/", "https://]/"):
        [(path, text)] = issues_of(NewLink, json.dumps({"account_id": "acc_a", "url": url}).encode())
        assert path == "url"
        assert text.startswith("must be a URL that begins with https:// ")


def test_issue_has_a_code_and_the_limit():
    rules = [{"url": "https://a.example/"}] * 11
    for body, expected in (
        ({"account_id": "acc_a"}, [("url", "required", None)]),
        (
            {"account_id": "a" * 101, "url": 1, "more": 1},
            [("account_id", "too_long", 100), ("url", "not_text", None), ("more", "unknown", None)],
        ),
        (
            {"account_id": "acc_a", "url": "https://a/" + "b" * 2_048, "rules": rules},
            [("url", "too_long", 2_048), ("rules", "too_many", 10)],
        ),
        (
            {"account_id": "acc_a", "url": "http://a.example/", "code": "robots.txt"},
            [("url", "not_https", None), ("code", "wrong_form", None)],
        ),
    ):
        with pytest.raises(Invalid) as refused:
            parse_body(NewLink, json.dumps(body).encode())
        assert sorted((issue.path, issue.code, issue.limit) for issue in refused.value.issues) == sorted(expected)


@cases("text", ["64.0", "+64", "6_4", " 64", "64 ", "-64", "6e1", "0x40", "٦٤", "", "9" * 30, "true"])
async def test_number_in_a_query_must_be_digits(world, text):
    session = await world.session(await world.user())
    for path, name in (
        ("/v1/sites", "limit"),
        ("/v1/links", "limit"),
        ("/v1/links/lnk_" + "a" * 20 + "/qr.svg", "size"),
    ):
        response = await world.call("GET", f"{path}?{urlencode({name: text})}", headers=session)
        is_error(response, 400, "invalid_request")
        assert response.body["error"]["details"]["issues"] == [
            {"path": name, "code": "not_integer", "message": "must be a whole number (digits only)"}
        ]


async def test_long_query_is_not_parsed(world):
    session = await world.session(await world.user())
    for path in ("/v1/sites", "/v1/me"):
        response = await world.call("GET", f"{path}?{'&'.join(['a=1'] * 300)}", headers=session)
        is_error(response, 400, "invalid_request")
        [issue] = response.body["error"]["details"]["issues"]
        assert issue["message"] == "the query must have at most 1000 characters"


@pytest.mark.rule("G1")
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_body_without_json_content_type_is_refused(world, kind):
    session = await world.session(await world.user())
    response = await world.call(
        "POST", "/v1/keys", headers={**session, "Content-Type": kind}, data=b'{"scopes":["links"]}'
    )
    is_error(response, 400, "invalid_request")
    assert response.body["error"]["details"]["issues"] == [
        {"path": "Content-Type", "code": "other", "message": "must be application/json"}
    ]


async def test_body_of_a_get_is_ignored(world):
    session = await world.session(await world.user())
    response = await world.call("GET", "/v1/me", headers={**session, "Content-Type": "text/plain"}, data=b"\xff{")
    assert response.status == 200


@pytest.mark.rule("G8")
@cases(
    "query",
    [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=" + "9" * 300,
        "limit=1&limit=2",
        "unknown=1",
        "cursor=%00",
        "account_id=%00",
        "account_id=" + "x" * 101,
        "%ff=%fe",
    ],
)
async def test_invalid_query_is_an_invalid_request(world, query):
    session = await world.session(await world.user())
    for path in ("/v1/sites", "/v1/links"):
        is_error(await world.call("GET", f"{path}?{query}", headers=session), 400, "invalid_request")


@pytest.mark.rule("G8")
async def test_query_on_an_endpoint_without_one_is_an_invalid_request(world):
    session = await world.session(await world.user())
    for method, path in [("GET", "/v1/me"), ("POST", "/v1/keys"), ("POST", "/auth/sign-out")]:
        response = await world.call(method, f"{path}?a=1", headers=session, json={"scopes": ["links"]})
        is_error(response, 400, "invalid_request")


@pytest.mark.rule("G8")
async def test_exception_is_an_internal_error_with_the_id_of_its_log_line(world, caplog, expected_errors):
    expected_errors.allow("request failed.*RuntimeError")

    async def crash() -> None:
        raise RuntimeError("a bug with a secret in it")

    caplog.handler.setFormatter(JsonFormatter())
    world.supervisor.before = crash
    _, session, account = await owner(world)
    response = await world.call("GET", f"/v1/accounts/{account}/zones", headers=session)
    is_error(response, 500, "internal")
    assert "secret" not in response.raw.decode()
    error_id = response.body["error"]["details"]["id"]
    assert error_id == response.headers["X-Request-Id"]
    lines = [json.loads(text) for text in caplog.text.splitlines()]
    (line,) = [line for line in lines if line["logger"] == app_module.__name__]
    assert line["request"] == error_id
    assert "RuntimeError" in line["traceback"]


async def test_internal_error_of_an_actor_has_the_request_id(world):
    _, session, account = await owner(world)
    world.supervisor.refusal = ServiceError("internal")  # as an actor raises it after logging the traceback
    response = await world.call("GET", f"/v1/accounts/{account}/zones", headers=session)
    is_error(response, 500, "internal")
    assert response.body["error"]["details"]["id"] == response.headers["X-Request-Id"]


async def test_errors_of_a_body_do_not_repeat_its_values(world):
    session = await world.session(await world.user())
    response = await world.call(
        "POST", "/v1/accounts", headers=session, json={"edge_account_id": "x-secret-x", "bootstrap_token": 123454321}
    )
    is_error(response, 400, "invalid_request")
    assert b"secret" not in response.raw
    assert b"123454321" not in response.raw
