"""The bodies and queries that the API takes: parsed once, strictly, at the border. Pure.

Whatever is wrong with them is `Invalid` with a list of issues, never a crash: text holds no NUL (PostgreSQL stores
none), numbers have bounds, lists have lengths, unknown fields are refused. Nothing that is sent makes more work than
what could be right: a body has few values and no doubles before it is looked at closely, and of a list the first wrong
item is told.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)
from pydantic_core import from_json, to_json

from svc import emails, passwords
from svc.errors import Invalid, NotFound
from svc.model import Period, Scope, url_host

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic_core import ErrorDetails

# Of a body. The largest that can be right, a link with ten rules for 300 countries each, has 3,100 values in 31 lists
# and objects; no object has more than six fields.
_MOST_VALUES = 4_000
_MOST_CONTAINERS = 100
_MOST_FIELDS = 50
_DEEPEST = 8
# Of a body with long lists: 50 paths of 1,000 characters, 1,000 edge accounts, ten rules.
_LARGE_BYTES = 65_536
_MOST_ISSUES = 20
_LONGEST_PATH = 200  # characters: a field's name comes from the client

_ID = re.compile(r"[a-z]{2,4}_[a-z2-7]{20}")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Laxer than the above: such names are in use. No percent: an encoded host would pass for another one.
_URL_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
# RFC 3986: what may stand in an address; everything else has to be percent-encoded.
_URL_CHARS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
# The worker compares prefixes of what browsers send, and that is percent-encoded.
_PATH_CHARS = re.compile(r"/[A-Za-z0-9\-._~:/@!$&'()*+,;=%]*")

LONGEST_URL = 2048


T = TypeVar("T")


class Wrong(ValueError):
    """What is wrong with a value, in words for whoever sent it."""


def _text(value: str) -> str:
    if "\x00" in value:
        raise Wrong("must not hold a NUL character")
    return value


def _host(value: str) -> str:
    host = value.lower().removesuffix(".")
    labels = host.split(".")
    if not host.isascii():
        raise Wrong("must be in its ASCII form (xn--…)")
    if len(host) > 253 or len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise Wrong("must be a host name, e.g. shop.example.com")
    if labels[-1].isdigit():
        raise Wrong("must be a host name, not an address")
    return host


def host_of(url: str) -> str:
    """The host of an https address, in lower case without a dot at its end. Raises Wrong."""
    try:
        parts: SplitResult = urlsplit(url)
        host, port = url_host(url), parts.port
    except ValueError:  # brackets around something else than an address, a port that is no number
        raise Wrong("must be an https address") from None
    if parts.scheme != "https" or not url.lower().startswith("https://") or not host:
        raise Wrong("must be an https address")
    if port == 0:
        raise Wrong("must not name port 0")
    return host


def _https_url(value: str) -> str:
    if len(value) > LONGEST_URL:
        raise Wrong(f"must have at most {LONGEST_URL} characters")
    if not _URL_CHARS.fullmatch(value):
        raise Wrong("must be an https address; other characters than those of RFC 3986 are to be percent-encoded")
    host = host_of(value)
    if "[" in value.split("/")[2]:
        _ip_address(host)
    elif not all(_URL_LABEL.fullmatch(label) for label in host.split(".")):
        raise Wrong("must name a host")
    return value


def _ip_address(host: str) -> None:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        raise Wrong("must name a host") from None


def _prefix(value: str) -> str:
    if not _PATH_CHARS.fullmatch(value):
        raise Wrong("must begin with / and hold only the characters of a path, others percent-encoded")
    return value


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise Wrong("must be an address or a network, e.g. 192.0.2.7 or 2001:db8::/32") from None
    return value


def _email(value: str) -> str:
    try:
        return emails.parse_address(value)
    except ValueError as error:
        raise Wrong(str(error)) from None


def _digits(value: object) -> int:
    """A number of a query: digits and nothing else that Python would take for one (` 5`, `+5`, `5_0`, `5.0`)."""
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,18}", value):
        raise Wrong("must be a whole number, in digits")
    return int(value)


def _not_empty(value: tuple[T, ...]) -> tuple[T, ...]:
    if not value:
        raise Wrong("must have at least one item")
    return value


def _new_password(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < passwords.SHORTEST:
        raise Wrong(f"must have at least {passwords.SHORTEST} characters")
    return _password(value)


def _password(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) > passwords.LONGEST:
        raise Wrong(f"must have at most {passwords.LONGEST} characters")
    return value


def _secret(value: SecretStr) -> SecretStr:
    """A token of the edge platform goes into a header: visible ASCII only."""
    if not re.fullmatch(r"[\x21-\x7e]{1,1000}", value.get_secret_value()):
        raise Wrong("must be a token")
    return value


Text = Annotated[str, AfterValidator(_text)]
Id = Annotated[Text, Field(max_length=100)]
Host = Annotated[Text, Field(max_length=300), AfterValidator(_host)]
HttpsUrl = Annotated[Text, AfterValidator(_https_url)]
PathPrefix = Annotated[Text, Field(max_length=1000), AfterValidator(_prefix)]
EdgeAccountId = Annotated[str, Field(pattern=r"\A[0-9a-f]{32}\z")]
NetworkText = Annotated[Text, Field(max_length=100), AfterValidator(_network)]
Email = Annotated[Text, Field(max_length=emails.LONGEST_ADDRESS), AfterValidator(_email)]
NewPassword = Annotated[SecretStr, AfterValidator(_new_password)]
Password = Annotated[SecretStr, AfterValidator(_password)]
EdgeToken = Annotated[SecretStr, AfterValidator(_secret)]
MailToken = Annotated[SecretStr, Field(max_length=200)]
Number = Annotated[int, BeforeValidator(_digits)]
Country = Annotated[str, Field(pattern=r"\A[A-Z]{2}\z")]
Excluded = Annotated[tuple[PathPrefix, ...], Field(max_length=50, fail_fast=True)]


class Body(BaseModel):
    """A JSON object, taken strictly: no unknown fields, no number for a text, nothing repeated in errors.

    `most_bytes`: no larger body is read. It fits the largest that can be right, with some white space.
    """

    most_bytes: ClassVar[int] = 4_096

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Nothing(Body):
    """The body of an endpoint that takes none: empty, or `{}`."""


class NewKey(Body):
    """POST /v1/keys."""

    most_bytes: ClassVar[int] = _LARGE_BYTES

    scopes: Annotated[tuple[Scope, ...], Field(max_length=4, fail_fast=True), AfterValidator(_not_empty)]
    allow_accounts: Annotated[tuple[EdgeAccountId, ...], Field(max_length=1000, fail_fast=True)] | None = None
    allow_ips: Annotated[tuple[NetworkText, ...], Field(max_length=100, fail_fast=True)] | None = None


class Connect(Body):
    """POST /v1/accounts."""

    edge_account_id: EdgeAccountId
    bootstrap_token: EdgeToken


class PutLinkHost(Body):
    """PUT /v1/accounts/{id}/link-host."""

    host: Host


class NewSite(Body):
    """POST /v1/sites."""

    most_bytes: ClassVar[int] = _LARGE_BYTES

    account_id: Id
    host: Host
    excluded_paths: Excluded = ()


class RuleBody(Body):
    """One rule of a link."""

    url: HttpsUrl
    countries: Annotated[tuple[Country, ...], Field(max_length=300, fail_fast=True)] | None = None
    devices: Annotated[tuple[Literal["mobile", "desktop"], ...], Field(max_length=2, fail_fast=True)] | None = None


class NewLink(Body):
    """POST /v1/links."""

    most_bytes: ClassVar[int] = _LARGE_BYTES

    account_id: Id
    url: HttpsUrl
    code: Annotated[str, Field(pattern=r"\A[A-Za-z0-9_-]{3,32}\z")] | None = None
    rules: Annotated[tuple[RuleBody, ...], Field(max_length=10, fail_fast=True)] = ()


class Credentials(Body):
    """POST /auth/sign-in."""

    email: Email
    password: Password


class SignUp(Body):
    """POST /auth/sign-up."""

    email: Email
    password: NewPassword


class Address(Body):
    """POST /auth/password-reset and /auth/confirm/resend."""

    email: Email


class Token(Body):
    """POST /auth/confirm."""

    token: MailToken


class Reset(Body):
    """POST /auth/password-reset/confirm."""

    token: MailToken
    password: NewPassword


class Query(BaseModel):
    """A query string: texts, so numbers are read from them; unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class NoQuery(Query):
    """Of an endpoint that takes no query."""


class PageQuery(Query):
    """GET /v1/sites and /v1/links: one account's, or all; 1,000 at once."""

    account_id: Id | None = None
    limit: Annotated[Number, Field(ge=1, le=1000)] = 1000
    cursor: Annotated[Text, Field(max_length=200)] | None = None


class QrQuery(Query):
    """GET /v1/links/{id}/qr.svg."""

    size: Annotated[Number, Field(ge=64, le=9999)] | None = None


class ReportQuery(Query):
    """GET …/report."""

    period: Period = "today"
    breakdowns: Literal["1"] | None = None


B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=Query)


def parse_body(model: type[B], raw: bytes) -> B:
    """The body as a `model`. Raises Invalid."""
    try:
        return model.model_validate_json(_bounded(raw) if issubclass(model, Body) else raw or b"{}")
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


def parsed(model: type[B], **fields: str) -> B:
    """These fields as a `model`, as if they came in a body. Raises Invalid."""
    return parse_body(model, to_json(fields))


def _bounded(raw: bytes) -> bytes:
    """The same JSON, once it is known to be small in each way; of a field that comes twice the last. Raises Invalid."""
    try:
        value = from_json(raw or b"{}")
    except ValueError:
        raise Invalid([("", _TEXTS["json_invalid"])]) from None
    level = [value]
    values = containers = 0
    for _ in range(_DEEPEST):
        values += sum(len(container) for container in level if isinstance(container, (dict, list)))
        if values > _MOST_VALUES or any(isinstance(it, dict) and len(it) > _MOST_FIELDS for it in level):
            raise Invalid([("", "has more fields or items than any right one")])
        level = [item for container in level for item in _items(container) if isinstance(item, (dict, list))]
        containers += len(level)
        if containers > _MOST_CONTAINERS:
            raise Invalid([("", "has more lists and objects than any right one")])
        if not level:
            return to_json(value)
    raise Invalid([("", "is nested too deep")])


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def parse_query(model: type[Q], parameters: Mapping[str, list[str]]) -> Q:
    """The query as a `model`. Raises Invalid, also for a parameter that comes twice."""
    twice = [name for name, values in parameters.items() if len(values) > 1]
    if twice:
        raise Invalid([(_cut(name), "must come once") for name in twice[:_MOST_ISSUES]])
    try:
        return model.model_validate({name: values[0] for name, values in parameters.items()})
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


# What pydantic calls its findings, in our words. Bounds are told where the library tells them.
_TEXTS = {
    "json_invalid": "must be JSON",
    "missing": "is required",
    "extra_forbidden": "is not a field of this request",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "string_type": "must be a text",
    "string_unicode": "must be a text",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "does not have the form that this field takes",
    "too_long": "must have at most {max_length} items",
    "too_short": "must have at least {min_length} items",
    "literal_error": "must be one of {expected}",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "multiple_of": "must be a multiple of {multiple_of}",
}
_OTHER_TEXT = "is not right"


def issues_of(error: ValidationError) -> list[tuple[str, str]]:
    """Field path and message of the first problems; nothing of what was sent but the names of its fields."""
    found = error.errors(include_url=False, include_input=False)[:_MOST_ISSUES]
    return [(_cut(".".join(str(part) for part in issue["loc"])), _text_of(issue)) for issue in found]


def _text_of(issue: ErrorDetails) -> str:
    context = issue.get("ctx", {})
    wrong = context.get("error")
    if isinstance(wrong, Wrong):
        return str(wrong)
    return _TEXTS.get(issue["type"], _OTHER_TEXT).format_map(context)


def known_id(prefix: str, text: str) -> str:
    """`text`, if it can be an id of this kind; anything else is NotFound, and never reaches the store."""
    if not text.startswith(f"{prefix}_") or not _ID.fullmatch(text):
        raise NotFound
    return text


def _cut(text: str) -> str:
    clean = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return clean if len(clean) <= _LONGEST_PATH else clean[:_LONGEST_PATH] + "…"
