"""The bodies and queries that the API takes: parsed once, strictly, at the border. Pure.

Whatever is wrong with them is `Invalid` with a list of issues, never a crash: text holds no NUL (PostgreSQL stores
none), numbers have bounds, lists have lengths, unknown fields are refused.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Annotated, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError

from svc import passwords
from svc.errors import Invalid, NotFound
from svc.model import Period, Scope

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_ISSUES = 20
_LONGEST_ISSUE = 200  # characters of a path or a message: a field's name comes from the client

_ID = re.compile(r"[a-z]{2,4}_[a-z2-7]{20}")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
# Laxer than the above: such names are in use. No percent: an encoded host would pass for another one.
_URL_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
# RFC 3986: what may stand in an address; everything else has to be percent-encoded.
_URL_CHARS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]+")
# The worker compares prefixes of what browsers send, and that is percent-encoded.
_PATH_CHARS = re.compile(r"/[A-Za-z0-9\-._~:/@!$&'()*+,;=%]*")

LONGEST_URL = 2048


def _text(value: str) -> str:
    if "\x00" in value:
        raise ValueError("must not hold a NUL character")
    return value


def _host(value: str) -> str:
    host = value.lower().removesuffix(".")
    labels = host.split(".")
    if not host.isascii():
        raise ValueError("must be in its ASCII form (xn--…)")
    if len(host) > 253 or len(labels) < 2 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError("must be a host name, e.g. shop.example.com")
    if labels[-1].isdigit():
        raise ValueError("must be a host name, not an address")
    return host


def host_of(url: str) -> str:
    """The host of an https address, in lower case without a dot at its end. Raises ValueError."""
    parts = urlsplit(url)
    host = (parts.hostname or "").removesuffix(".")
    if parts.scheme != "https" or not url.lower().startswith("https://") or not host:
        raise ValueError("must be an https address")
    if parts.port == 0:
        raise ValueError("must not name port 0")
    return host


def _https_url(value: str) -> str:
    if len(value) > LONGEST_URL:
        raise ValueError(f"must have at most {LONGEST_URL} characters")
    if not _URL_CHARS.fullmatch(value):
        raise ValueError("must be an https address; other characters than those of RFC 3986 are to be percent-encoded")
    host = host_of(value)
    if "[" in value.split("/")[2]:
        ipaddress.ip_address(host)
    elif not all(_URL_LABEL.fullmatch(label) for label in host.split(".")):
        raise ValueError("must name a host")
    return value


def _prefix(value: str) -> str:
    if not _PATH_CHARS.fullmatch(value):
        raise ValueError("must begin with / and hold only the characters of a path, others percent-encoded")
    return value


def _network(value: str) -> str:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        raise ValueError("must be an address or a network, e.g. 192.0.2.7 or 2001:db8::/32") from None
    return value


def _email(value: str) -> str:
    if (
        not re.fullmatch(r"[\x21-\x7e]+@[\x21-\x7e]+", value)
        or value.count("@") != 1
        or set(value) & set('<>,;:"()[]\\')
    ):
        raise ValueError("must be an e-mail address")
    return value.lower()


def _new_password(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < passwords.SHORTEST:
        raise ValueError(f"must have at least {passwords.SHORTEST} characters")
    return _password(value)


def _password(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) > passwords.LONGEST:
        raise ValueError(f"must have at most {passwords.LONGEST} characters")
    return value


def _secret(value: SecretStr) -> SecretStr:
    """A token of the edge platform goes into a header: visible ASCII only."""
    if not re.fullmatch(r"[\x21-\x7e]{1,1000}", value.get_secret_value()):
        raise ValueError("must be a token")
    return value


Text = Annotated[str, AfterValidator(_text)]
Id = Annotated[Text, Field(max_length=100)]
Host = Annotated[Text, Field(max_length=300), AfterValidator(_host)]
HttpsUrl = Annotated[Text, AfterValidator(_https_url)]
PathPrefix = Annotated[Text, Field(max_length=1000), AfterValidator(_prefix)]
EdgeAccountId = Annotated[str, Field(pattern=r"\A[0-9a-f]{32}\z")]
NetworkText = Annotated[Text, Field(max_length=100), AfterValidator(_network)]
Email = Annotated[Text, Field(max_length=254), AfterValidator(_email)]
NewPassword = Annotated[SecretStr, AfterValidator(_new_password)]
Password = Annotated[SecretStr, AfterValidator(_password)]
EdgeToken = Annotated[SecretStr, AfterValidator(_secret)]
MailToken = Annotated[SecretStr, Field(max_length=200)]
Excluded = Annotated[tuple[PathPrefix, ...], Field(max_length=50)]


class Body(BaseModel):
    """A JSON object, taken strictly: no unknown fields, no number for a text, nothing repeated in errors."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Nothing(Body):
    """Of an endpoint that takes no body: empty, or `{}`."""


class NewKey(Body):
    """POST /v1/keys."""

    scopes: Annotated[tuple[Scope, ...], Field(min_length=1, max_length=4)]
    allow_accounts: Annotated[tuple[EdgeAccountId, ...], Field(max_length=1000)] | None = None
    allow_ips: Annotated[tuple[NetworkText, ...], Field(max_length=100)] | None = None


class Connect(Body):
    """POST /v1/accounts."""

    edge_account_id: EdgeAccountId
    bootstrap_token: EdgeToken


class PutLinkHost(Body):
    """PUT /v1/accounts/{id}/link-host."""

    host: Host


class NewSite(Body):
    """POST /v1/sites."""

    account_id: Id
    host: Host
    excluded_paths: Excluded = ()


class RuleBody(Body):
    """One rule of a link."""

    url: HttpsUrl
    countries: Annotated[tuple[Annotated[str, Field(pattern=r"\A[A-Z]{2}\z")], ...], Field(max_length=300)] | None = (
        None
    )
    devices: Annotated[tuple[Literal["mobile", "desktop"], ...], Field(max_length=2)] | None = None


class NewLink(Body):
    """POST /v1/links."""

    account_id: Id
    url: HttpsUrl
    code: Annotated[str, Field(pattern=r"\A[A-Za-z0-9_-]{3,32}\z")] | None = None
    rules: Annotated[tuple[RuleBody, ...], Field(max_length=10)] = ()


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
    limit: Annotated[int, Field(ge=1, le=1000)] = 1000
    cursor: Annotated[Text, Field(max_length=200)] | None = None


class QrQuery(Query):
    """GET /v1/links/{id}/qr.svg."""

    size: Annotated[int, Field(ge=64, le=9999)] | None = None


class ReportQuery(Query):
    """GET …/report."""

    period: Period = "today"
    breakdowns: Literal["1"] | None = None


B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=Query)


def parse_body(model: type[B], raw: bytes) -> B:
    """The body as a `model`. Raises Invalid."""
    try:
        return model.model_validate_json(raw or b"{}")
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


def parse_query(model: type[Q], parameters: Mapping[str, list[str]]) -> Q:
    """The query as a `model`. Raises Invalid, also for a parameter that comes twice."""
    twice = [name for name, values in parameters.items() if len(values) > 1]
    if twice:
        raise Invalid([(_cut(name), "must come once") for name in twice[:_MOST_ISSUES]])
    try:
        return model.model_validate({name: values[0] for name, values in parameters.items()})
    except ValidationError as error:
        raise Invalid(issues_of(error)) from None


def issues_of(error: ValidationError) -> list[tuple[str, str]]:
    """Field path and message of the first problems; nothing of what was sent but the names of its fields."""
    found = error.errors(include_url=False, include_input=False, include_context=False)[:_MOST_ISSUES]
    return [(_cut(".".join(str(part) for part in issue["loc"])), _cut(issue["msg"])) for issue in found]


def known_id(prefix: str, text: str) -> str:
    """`text`, if it can be an id of this kind; anything else is NotFound, and never reaches the store."""
    if not text.startswith(f"{prefix}_") or not _ID.fullmatch(text):
        raise NotFound
    return text


def _cut(text: str) -> str:
    clean = text.replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return clean if len(clean) <= _LONGEST_ISSUE else clean[:_LONGEST_ISSUE] + "…"
