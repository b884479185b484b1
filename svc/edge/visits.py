"""Sends requests to hosts that users enter, as visitors would. The package's other requests go to Cloudflare's API."""

from __future__ import annotations

import errno
import ssl
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

import httpx
import trio

from svc.edge.bounded_body import read_body
from svc.edge.public_addresses import LookupFailed, NotPublic, NotResolved, public_addresses, system_lookup
from svc.edge.tls import trusted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc.edge.public_addresses import Lookup

E = TypeVar("E", bound=BaseException)

_BROWSER = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
)
_TIMEOUT_S = 15.0
# The user agent of requests to a link host. They are not counted, because no link has the requested code.
USER_AGENT = "svc-link-host-check/1.0"
# The user agent of requests to a page of a site. The page's snippet is not run, so the request is not counted.
PAGE_USER_AGENT = "svc-page-check/1.0"
# Headers that show who sent a response. `cf-ray` is in every response that passes through Cloudflare, and
# `cf-mitigated` is in Cloudflare's challenge pages (Cloudflare docs: fundamentals/reference/http-headers,
# cloudflare-challenges/challenge-types/challenge-pages/detect-response).
_RAY, _MITIGATED = "cf-ray", "cf-mitigated"
# Errors that mean that this machine has no route to the address, for example because the machine has no IPv6 address.
_NO_NETWORK = frozenset({errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETDOWN})

Scheme = Literal["https", "http"]
# Reasons why a host did not send an HTTP response. `unchecked` means that something other than the host may have caused
# the problem.
FailedBy = Literal["not_resolved", "not_public", "not_connected", "certificate", "not_http", "unchecked"]


@dataclass(frozen=True)
class Answer:
    """The parts of an HTTP response that show who sent it.

    `location`, `policy`: the headers Location and Content-Security-Policy, "" if absent. `through_cloudflare`: True if
    the response passed through Cloudflare. `is_challenge`: True if Cloudflare sent a challenge page instead of the
    host's response. `body`, `content_type`: the beginning of the body and the header Content-Type, if the `Visitor`
    reads bodies. `is_whole`: True if `body` is complete.
    """

    status: int
    location: str
    policy: str
    through_cloudflare: bool
    is_challenge: bool
    body: bytes = field(default=b"", repr=False)
    is_whole: bool = False
    content_type: str = ""


@dataclass(frozen=True)
class NoAnswer:
    """The result if a host sent no HTTP response.

    `said`: details, such as the private address or the reason why the certificate is not valid.
    """

    reason: FailedBy
    said: str = ""


@dataclass(frozen=True)
class Visitor:
    """A client for requests to users' public hosts.

    The client connects only to public addresses and gives up after a few seconds. It does not follow redirects or store
    cookies.

    `emulated_edge`: the URL of an emulated Cloudflare that receives all requests, for tests and demonstrations, or ""
    for none. `user_agent`, `accept`: headers of the requests. `lookup`: resolves a host. `port`, `tls`: the port of the
    hosts, and the TLS context for them. `plain_port`: the port for requests without TLS. `connect_s`,
    `response_s`, `longest_s`: timeouts for the connection to each address, for each part of a response, and for the
    whole request. `body_bytes`: how much of the body to read. `threads`: see `public_addresses`.
    """

    emulated_edge: str = ""
    user_agent: str = USER_AGENT
    accept: str = "text/html"
    lookup: Lookup = system_lookup
    port: int = 443
    plain_port: int = 80
    tls: Callable[[], ssl.SSLContext] = trusted
    connect_s: float = 3.0
    response_s: float = 5.0
    longest_s: float = 20.0
    body_bytes: int = 0
    threads: trio.CapacityLimiter | None = None

    async def get(
        self, host: str, path: str, *, scheme: Scheme = "https", port: int | None = None
    ) -> Answer | NoAnswer:
        """Send one GET request for https://`host``path`, and return the response.

        `scheme`: "http" for a request without TLS. `port`: None for the scheme's default port.
        """
        with trio.move_on_after(self.longest_s):
            if self.emulated_edge:
                return await self._ask(self.emulated_edge, host, path)
            try:
                addresses = await public_addresses(host, self.lookup, self.threads)
            except NotResolved:
                return NoAnswer("not_resolved")
            except NotPublic as error:
                return NoAnswer("not_public", str(error))
            except LookupFailed as error:
                return NoAnswer("unchecked", str(error))
            return await self.get_from(addresses, host, path, scheme=scheme, port=port)
        return NoAnswer("not_http")

    async def get_from(
        self, addresses: Sequence[str], host: str, path: str, *, scheme: Scheme = "https", port: int | None = None
    ) -> Answer | NoAnswer:
        """Send the request to the first of these addresses that accepts a connection.

        The caller must have checked that the addresses are public.
        """
        failed = NoAnswer("unchecked", "no network")
        usual_port = self.port if scheme == "https" else self.plain_port
        named = host if port is None else f"{host}:{port}"
        for address in addresses:
            literal = f"[{address}]" if ":" in address else address
            answer = await self._ask(f"{scheme}://{literal}:{port or usual_port}", host, path, named)
            if isinstance(answer, Answer) or answer.reason not in ("not_connected", "unchecked"):
                return answer
            if answer.reason == "not_connected":
                failed = answer
        return failed

    async def _ask(self, origin: str, host: str, path: str, named: str = "") -> Answer | NoAnswer:
        """Send the request to `origin`, an address with scheme and port. The certificate must be valid for `host`.

        `named`: the value of the Host header. The default is `host`.
        """
        headers = {
            "Host": named or host,
            "User-Agent": self.user_agent,
            "Accept": self.accept,
            "Accept-Language": "en",
            "Connection": "close",
        }
        if self.body_bytes:
            headers["Accept-Encoding"] = "identity"
        timeout = httpx.Timeout(self.response_s, connect=self.connect_s)
        # httpcore uses `sni_hostname` in place of the URL's address for SNI and to check the certificate.
        extensions = {"sni_hostname": host, "timeout": timeout.as_dict()}
        request = httpx.Request("GET", f"{origin}{path}", headers=headers, extensions=extensions)
        # Use a transport, because httpx's client would parse the header Location, and raise an error for a location
        # that it does not support.
        async with httpx.AsyncHTTPTransport(verify=self.tls(), trust_env=False) as transport:
            try:
                response = await transport.handle_async_request(request)
            except httpx.HTTPError as error:
                return _reason(error)
            try:
                return await _with_body(_answer(response), response, self.body_bytes)
            except httpx.HTTPError as error:
                return _reason(error)
            finally:
                await response.aclose()


async def _with_body(answer: Answer, response: httpx.Response, body_bytes: int) -> Answer:
    """Return the answer with the beginning of the body. A compressed body is not read, because it may be very large."""
    if not body_bytes or response.headers.get("content-encoding", "identity").lower() != "identity":
        return answer
    body = await read_body(response, response.aiter_raw(), body_bytes)
    content_type = response.headers.get("content-type", "")
    return replace(answer, body=body[:body_bytes], is_whole=len(body) <= body_bytes, content_type=content_type)


def _answer(response: httpx.Response) -> Answer:
    headers = response.headers
    return Answer(
        response.status_code,
        headers.get("location", ""),
        headers.get("content-security-policy", ""),
        through_cloudflare=_RAY in headers,
        is_challenge=headers.get(_MITIGATED) == "challenge",
    )


def _reason(error: httpx.HTTPError) -> NoAnswer:
    """Return the reason for a failed request.

    One of the causes of `error` is the error that the TLS library or the socket raised. It contains the reason.
    """
    refused = cause_of(error, ssl.SSLCertVerificationError)
    if refused is not None:
        return NoAnswer("certificate", refused.verify_message)
    handshake = cause_of(error, ssl.SSLError, lambda each: not isinstance(each, ssl.SSLEOFError))
    if handshake is not None and isinstance(error, httpx.ConnectError):
        # Cloudflare refuses the handshake if it has no certificate for the host.
        reason = (handshake.reason or "unknown").replace("_", " ").lower()
        return NoAnswer("certificate", f"the TLS handshake failed ({reason})")
    if not isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return NoAnswer("not_http")
    system = cause_of(error, OSError, lambda each: each.errno in _NO_NETWORK)
    return NoAnswer("not_connected") if system is None else NoAnswer("unchecked", "no network")


def cause_of(error: BaseException, kind: type[E], fits: Callable[[E], bool] = lambda _: True) -> E | None:
    """Return the error or the first of its causes that has the type `kind` and for which `fits` is True, or None."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, kind) and fits(cause):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


async def send_view(host: str, path: str, *, through: str = "") -> int | None:
    """Send a view of the page `/` to the site's counter at `path`.

    Return the status of the response, or None if there was no response.

    `through`: the scheme, address and port of an emulated Cloudflare, which identifies the site by the Host header. If
    "", the request goes to `host`.
    """
    headers = {"User-Agent": _BROWSER, "Content-Type": "text/plain;charset=UTF-8"}
    if through:
        headers["Host"] = host
    base_url = through or f"https://{host}"
    if not urlsplit(base_url).hostname:
        return None
    async with httpx.AsyncClient(
        timeout=_TIMEOUT_S, verify=trusted(), trust_env=False, follow_redirects=False
    ) as client:
        try:
            response = await client.post(f"{base_url}{path}", content="/\n", headers=headers)
        except httpx.HTTPError:
            return None
    return response.status_code
