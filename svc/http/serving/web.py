"""Serves the web application and the documentation from memory, without the framework.

The application consists of assets and one HTML file, the shell, for all of its pages. The documentation at /help has an
HTML file and a Markdown file for each page. `make build` creates all files (svc/web). Serving them needs no credential
and does not use the store. In the browser, the application requests its data from the API. If a page and an API
endpoint have the same path, the endpoint serves this path.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import json
import re
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from svc.api.contract import ENDPOINTS
from svc.config import ConfigError
from svc.identity.operator import DEFAULT_IDENTITY
from svc.identity.pages import application_page, help_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc.identity.operator import Identity

Headers = list[tuple[bytes, bytes]]

FOLDER = Path(__file__).parents[2] / "web"
# A strict Content-Security-Policy: no inline scripts or styles, no other origins, and no markup from strings (Trusted
# Types).
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",  # because links in emails contain a token
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
# The headers of the operator's logo. The logo may be an SVG image with scripts or links, which this policy disables if
# the image is opened as a page.
_LOGO_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
METHODS = ("GET", "HEAD")
ASSETS = "/assets/{file}"
HELP = "/help/{page}"
LLMS = "/llms.txt"
SHARE = "/s/{secret}"
# The page with all user interface components. It is available only in demonstrations.
COMPONENTS = "/components"

_HSTS = {"Strict-Transport-Security": "max-age=31536000"}
_REVALIDATE = "no-cache"
_ONE_DAY = "public, max-age=86400"
_IMMUTABLE = "public, max-age=31536000, immutable"  # safe because the file name contains a digest of the content
_HTML = "text/html; charset=utf-8"
# The file suffixes of the encodings, best encoding first. The build omits compressed files that save too little.
_ENCODINGS = {"br": ".br", "gzip": ".gz"}
_BODY_HEADERS = (b"content-type", b"content-length", b"content-encoding")
_ROBOTS = b"User-agent: *\nDisallow: /\n"


@dataclass(frozen=True, slots=True)
class File:
    """A file of the web application.

    `route`: the template of the file's path. `forms`: the headers and the body for each content encoding. The encoding
    "" is the uncompressed form.
    """

    route: str
    etag: bytes
    forms: Mapping[str, tuple[Headers, bytes]]

    def response(self, request_headers: Headers) -> tuple[int, Headers, bytes]:
        """Return the status, headers and body of the response to a request with these headers."""
        asked = {name.lower(): value for name, value in request_headers}
        form = next((name for name in _accepted(asked.get(b"accept-encoding", b"")) if name in self.forms), "")
        headers, body = self.forms[form]
        if self.etag in _tags(asked.get(b"if-none-match", b"")):
            return 304, [(name, value) for name, value in headers if name not in _BODY_HEADERS], b""
        return 200, headers, body


class Web:
    """The web application's files by path. `bytes`: their total size in all encodings."""

    def __init__(
        self, files: Mapping[str, File], shells: Mapping[str, File], shell: File, no_help: File, share: File
    ) -> None:
        self._files = {**files, **{path: page for path, page in shells.items() if ":" not in path}}
        templates = [page for path, page in shells.items() if ":" in path]
        self._templates = dict(enumerate(templates, start=1))
        patterns = [f"({re.sub('{[a-z]+}', '[^/]+', page.route)})" for page in templates]
        self._page = re.compile("|".join(patterns) or "(?!)")
        self._shell = shell
        self._no_help = no_help
        self._share = share
        self.bytes = sum(
            len(body) for file in [*files.values(), shell, no_help, share] for _, body in file.forms.values()
        )

    def find(self, path: str) -> File | None:
        """Return the file at a path. Return None if the path does not belong to the web application."""
        file = self._files.get(path)
        if file is None and (match := self._page.fullmatch(path)):
            return self._templates[match.lastindex or 0]
        return file

    def page(self, request_headers: Headers) -> tuple[int, Headers, bytes]:
        """Return the response with the shell (status, headers, body) for a page whose path is also an endpoint's."""
        return self._shell.response(request_headers)

    def share_page(self, request_headers: Headers, embed: Sequence[str]) -> tuple[Headers, bytes]:
        """Return the headers and body of a share's page. Pages of the origins in `embed` may show it in a frame."""
        headers, body = _without_cache(self._share, request_headers)
        if not embed:
            return headers, body
        policy = POLICY.replace("frame-ancestors 'none'", f"frame-ancestors {' '.join(embed)}")
        changed = {b"content-security-policy": policy.encode(), b"cross-origin-resource-policy": b"cross-origin"}
        return [(name, changed.get(name, value)) for name, value in headers], body

    def missing(self, path: str, request_headers: Headers) -> tuple[Headers, bytes]:
        """Return the headers and body of the response for an unknown path.

        Below /help, the body is the documentation's page for unknown paths. Elsewhere, the body is the shell, which
        then shows "not found".
        """
        return _without_cache(self._no_help if path.startswith("/help/") else self._shell, request_headers)


def _without_cache(file: File, request_headers: Headers) -> tuple[Headers, bytes]:
    """Return the headers and body of a page, without the ETag.

    The page is sent as the response for another path, so browsers must not store it under that path.
    """
    asked = [(name, value) for name, value in request_headers if name.lower() == b"accept-encoding"]
    _, headers, body = file.response(asked)
    return [(name, value) for name, value in headers if name != b"etag"], body


def load_web(
    base_url: str = "",
    folder: Path = FOLDER,
    demonstration: str = "",
    identity: Identity = DEFAULT_IDENTITY,
) -> Web:
    """Load the built web application for a service at `base_url`. Raises ConfigError if it was not built.

    `demonstration`: the `[web] demonstration` setting. `identity`: the operator's name, logo, contact and legal links.
    """
    try:
        built = folder / "dist"
        manifest = json.loads((built / "manifest.json").read_text())
        pages = [page["path"] for page in json.loads((folder / "pages.json").read_text())]
        always = {**HEADERS, **(_HSTS if base_url.startswith("https://") else {})}
        page = {**always, "Cache-Control": _REVALIDATE}
        icon = {**always, "Cache-Control": _ONE_DAY}
        asset = {**always, "Cache-Control": _IMMUTABLE}
        shell = _page(built / "index.html", "/", page, partial(_shell, identity, demonstration))
        in_help = partial(help_page, identity=identity)
        help_pages = {
            path: _page(built / each["file"], HELP, page, in_help)
            if each["type"] == _HTML
            else _file(built / each["file"], LLMS if path == LLMS else HELP, each["type"], page)
            for path, each in manifest["help"]["pages"].items()
        }
        # Do not cache the page, because it must disappear together with the share.
        share_headers = {**always, "Cache-Control": "no-store", "X-Robots-Tag": "noindex"}
        share = _page(built / "share.html", SHARE, share_headers, partial(application_page, identity=identity))
        no_help = _page(built / manifest["help"]["missing"], HELP, page, in_help)
        files = {
            **help_pages,
            **{path: _file(built / path[1:], ASSETS, each["type"], asset) for path, each in manifest["files"].items()},
            "/favicon.svg": _file(built / "favicon.svg", "/favicon.svg", "image/svg+xml", icon),
            "/robots.txt": _file_from_bodies("/robots.txt", "text/plain; charset=utf-8", icon, {"": _ROBOTS}),
        }
        if demonstration:
            files[COMPONENTS] = _file(built / "components.html", COMPONENTS, _HTML, page)
        else:
            for path in manifest["components"]:
                del files[path]
        if identity.logo is not None:
            headers = {**asset, **_LOGO_HEADERS}
            logo = _file_from_bodies(ASSETS, identity.logo.content_type, headers, {"": identity.logo.content})
            files[identity.logo.path] = logo
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"The web application cannot be read ({error}); run: make build") from None
    shells = {path: File(re.sub(":([a-z]+)", r"{\1}", path), shell.etag, shell.forms) for path in pages}
    for endpoint in ENDPOINTS:
        shells.pop(endpoint.path, None)
    return Web(files, shells, shell, no_help, share)


def _shell(identity: Identity, demonstration: str, page: str) -> str:
    """Return the web application's shell with the operator's identity.

    In a demonstration, the shell also contains the values that the connect page offers.
    """
    if demonstration:
        mark = f'<meta name="demonstration" content="{html.escape(demonstration)}" />\n    <title>'
        page = page.replace("<title>", mark, 1)
    return application_page(page, identity)


def _page(path: Path, route: str, headers: Mapping[str, str], edit: Callable[[str], str]) -> File:
    """Read a page and apply `edit`.

    If `edit` changes nothing, the compressed forms from the build are used. Raises OSError.
    """
    built = path.read_bytes()
    body = edit(built.decode()).encode()
    if body == built:
        return _file(path, route, _HTML, headers)
    return _file_from_bodies(route, _HTML, headers, {"gzip": gzip.compress(body, mtime=0), "": body})


def _file(path: Path, route: str, content_type: str, headers: Mapping[str, str]) -> File:
    """Read a file and its compressed forms. Raises OSError."""
    packed = {name: path.with_name(path.name + ending) for name, ending in _ENCODINGS.items()}
    bodies = {name: file.read_bytes() for name, file in packed.items() if file.exists()}
    return _file_from_bodies(route, content_type, headers, {**bodies, "": path.read_bytes()})


def _file_from_bodies(route: str, content_type: str, headers: Mapping[str, str], bodies: Mapping[str, bytes]) -> File:
    # The ETag is weak because all encodings have the same tag.
    etag = f'W/"{hashlib.sha256(bodies[""]).hexdigest()[:20]}"'
    forms = {}
    for encoding, body in bodies.items():
        all_headers = {**headers, "ETag": etag, "Content-Type": content_type, "Content-Length": str(len(body))}
        if len(bodies) > 1:
            all_headers["Vary"] = "Accept-Encoding"
        if encoding:
            all_headers["Content-Encoding"] = encoding
        forms[encoding] = ([(name.lower().encode(), value.encode()) for name, value in all_headers.items()], body)
    return File(route, etag.encode(), forms)


@lru_cache(maxsize=64)
def _accepted(header: bytes) -> tuple[str, ...]:
    """Return the encodings that an Accept-Encoding header allows (RFC 9110, 12.5.3), in the order of `_ENCODINGS`.

    A weight of 0 excludes an encoding. Other weights are ignored.
    """
    allowed = set()
    for part in header.decode("latin-1").lower().split(","):
        name, _, weight = part.partition(";")
        if not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight):
            allowed.add(name.strip())
    return tuple(name for name in _ENCODINGS if name in allowed)


def _tags(header: bytes) -> list[bytes]:
    return [tag.strip() for tag in header.split(b",")] if header else []
