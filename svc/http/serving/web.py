"""The web application: one shell for all pages, and what it loads; held in memory, served in front of the framework.

Its files come out of `make build` (svc/web). Nothing of it touches the store, and nobody has to be known: a page asks
the API for what it shows. What the API serves itself stays the API's, also where a page has the same path.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from svc.api.contract import ENDPOINTS
from svc.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

Headers = list[tuple[bytes, bytes]]

FOLDER = Path(__file__).parents[2] / "web"
# The strictest that there is: no inline script or style, nobody else's origin, and no text becomes markup.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self';"
    " font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",  # the links in e-mails carry a token
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
METHODS = ("GET", "HEAD")
ASSETS = "/assets/{file}"

_HSTS = {"Strict-Transport-Security": "max-age=31536000"}
_ASKED_AGAIN = "no-cache"
_FOR_A_DAY = "public, max-age=86400"
_FOR_EVER = "public, max-age=31536000, immutable"  # its name tells what is in it
_HTML = "text/html; charset=utf-8"
# Best first; the ending of the file that the build has made, where that is worth it.
_ENCODINGS = {"br": ".br", "gzip": ".gz"}
_OF_A_BODY = (b"content-type", b"content-length", b"content-encoding")
_ROBOTS = b"User-agent: *\nDisallow: /\n"


@dataclass(frozen=True, slots=True)
class File:
    """What one path gives. `route`: the path's template; `forms`: headers and body for each encoding, "" is none."""

    route: str
    etag: bytes
    forms: Mapping[str, tuple[Headers, bytes]]

    def answer(self, request_headers: Headers) -> tuple[int, Headers, bytes]:
        """Status, headers and body for a request with these headers."""
        asked = {name.lower(): value for name, value in request_headers}
        form = next((name for name in _accepted(asked.get(b"accept-encoding", b"")) if name in self.forms), "")
        headers, body = self.forms[form]
        if self.etag in _tags(asked.get(b"if-none-match", b"")):
            return 304, [(name, value) for name, value in headers if name not in _OF_A_BODY], b""
        return 200, headers, body


class Web:
    """Which paths are the web application's. `bytes`: what its files take, in all their forms."""

    def __init__(self, files: Mapping[str, File], shells: Mapping[str, File], shell: File) -> None:
        self._files = {**files, **{path: page for path, page in shells.items() if ":" not in path}}
        templates = [page for path, page in shells.items() if ":" in path]
        self._templates = dict(enumerate(templates, start=1))
        patterns = [f"({re.sub('{[a-z]+}', '[^/]+', page.route)})" for page in templates]
        self._page = re.compile("|".join(patterns) or "(?!)")
        self._shell = shell
        self.bytes = sum(len(body) for file in [*files.values(), shell] for _, body in file.forms.values())

    def find(self, path: str) -> File | None:
        """What a path gives; None: it is none of the application's."""
        found = self._files.get(path)
        if found is None and (match := self._page.fullmatch(path)):
            return self._templates[match.lastindex or 0]
        return found

    def page(self, request_headers: Headers) -> tuple[int, Headers, bytes]:
        """Status, headers and body of the shell, for a page whose path the API serves to others."""
        return self._shell.answer(request_headers)

    def missing(self, request_headers: Headers) -> tuple[Headers, bytes]:
        """Headers and body of the shell for a path that nothing has: it says so itself."""
        asked = [(name, value) for name, value in request_headers if name.lower() == b"accept-encoding"]
        _, headers, body = self._shell.answer(asked)
        return [(name, value) for name, value in headers if name != b"etag"], body


def load_web(base_url: str = "", folder: Path = FOLDER) -> Web:
    """The built application, for a service that users reach at `base_url`. Raises ConfigError: it was not built."""
    try:
        built = folder / "dist"
        manifest = json.loads((built / "manifest.json").read_text())
        pages = [page["path"] for page in json.loads((folder / "pages.json").read_text())]
        always = {**HEADERS, **(_HSTS if base_url.startswith("https://") else {})}
        shell = _file(built / "index.html", "/", _HTML, {**always, "Cache-Control": _ASKED_AGAIN})
        icon = {**always, "Cache-Control": _FOR_A_DAY}
        asset = {**always, "Cache-Control": _FOR_EVER}
        files = {
            **{path: _file(built / path[1:], ASSETS, each["type"], asset) for path, each in manifest["files"].items()},
            "/favicon.svg": _file(built / "favicon.svg", "/favicon.svg", "image/svg+xml", icon),
            "/robots.txt": _held("/robots.txt", "text/plain; charset=utf-8", icon, {"": _ROBOTS}),
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"The web application cannot be read ({error}); run: make build") from None
    shells = {path: File(re.sub(":([a-z]+)", r"{\1}", path), shell.etag, shell.forms) for path in pages}
    for endpoint in ENDPOINTS:
        shells.pop(endpoint.path, None)
    return Web(files, shells, shell)


def _file(path: Path, route: str, content_type: str, headers: Mapping[str, str]) -> File:
    """Raises OSError."""
    packed = {name: path.with_name(path.name + ending) for name, ending in _ENCODINGS.items()}
    bodies = {name: file.read_bytes() for name, file in packed.items() if file.exists()}
    return _held(route, content_type, headers, {**bodies, "": path.read_bytes()})


def _held(route: str, content_type: str, headers: Mapping[str, str], bodies: Mapping[str, bytes]) -> File:
    # Weak: it is the same for all encodings.
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
    """The encodings that an Accept-Encoding allows, best first (RFC 9110, 12.5.3; q only tells whether)."""
    allowed = set()
    for part in header.decode("latin-1").lower().split(","):
        name, _, weight = part.partition(";")
        if not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight):
            allowed.add(name.strip())
    return tuple(name for name in _ENCODINGS if name in allowed)


def _tags(header: bytes) -> list[bytes]:
    return [tag.strip() for tag in header.split(b",")] if header else []
