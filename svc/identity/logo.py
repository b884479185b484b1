"""The operator's logo, which is a PNG or SVG file. The content determines the type, regardless of the file's name.

An SVG file is a document that can contain scripts and load other files. Only drawings without such content are
accepted. In addition, the service sends logos with a Content-Security-Policy that blocks scripts and loading.
"""

from __future__ import annotations

import hashlib
import math
import re
import stat
import zlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 65_536
# Maximum width and height. A decoded picture of this size takes 16 MB of the browser's memory.
_MAX_PIXELS = 2_048
_MAX_ASPECT = 20

_PNG_START = b"\x89PNG\r\n\x1a\n"
_BOM = b"\xef\xbb\xbf"
_SVG = "http://www.w3.org/2000/svg"
# The allowed elements, which only draw. Elements that run scripts, load files or contain links are not allowed.
# Animations are not allowed either, because they can change where a link leads.
_ELEMENTS = frozenset(
    [
        "svg", "g", "defs", "symbol", "use", "switch", "title", "desc", "metadata", "style", "path", "rect",
        "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "textPath", "linearGradient",
        "radialGradient", "stop", "pattern", "clipPath", "mask", "marker", "filter", "feBlend", "feColorMatrix",
        "feComponentTransfer", "feComposite", "feConvolveMatrix", "feDiffuseLighting", "feDisplacementMap",
        "feDistantLight", "feDropShadow", "feFlood", "feFuncA", "feFuncB", "feFuncG", "feFuncR", "feGaussianBlur",
        "feMerge", "feMergeNode", "feMorphology", "feOffset", "fePointLight", "feSpecularLighting", "feSpotLight",
        "feTile", "feTurbulence",
    ]
)  # fmt: skip
# Namespaces in which drawing programs store their own data. Browsers ignore their elements and attributes.
_IGNORED_NAMESPACES = (
    "http://www.inkscape.org/namespaces/inkscape",
    "http://sodipodi.sourceforge.net/DTD/sodipodi-0.dtd",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://creativecommons.org/ns#",
    "http://web.resource.org/cc/",
    "http://purl.org/dc/elements/1.1/",
    "http://www.bohemiancoding.com/sketch/ns",
    "http://www.serif.com/",
)
# CSS that loads a file: url() that does not refer to an element of the drawing, and other functions and rules that load
# files. Backslashes are also rejected, because they could hide these words.
_LOADS = re.compile(r"url\((?!\s*[\"']?\s*#)|(image-set|image|src|cross-fade)\(|@import|\\|javascript:", re.IGNORECASE)
# Declarations that could add attributes to elements, or define text that is inserted elsewhere.
_DECLARATIONS = re.compile(rb"<!(ENTITY|ATTLIST|ELEMENT|NOTATION)", re.IGNORECASE)
_UNITS = ("", "px", "pt", "pc", "mm", "cm", "in", "em", "ex")
_LENGTH = re.compile(rf"\s*\+?([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{{1,3}})?)({'|'.join(_UNITS)})\s*")
_ENCODING = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']*)")


class LogoError(Exception):
    """Raised if the logo cannot be used. The message gives the reason and says what the operator can do."""


@dataclass(frozen=True)
class Logo:
    """A logo that is safe to serve. `suffix`: "svg" or "png"."""

    content: bytes = field(repr=False)
    suffix: str

    @property
    def content_type(self) -> str:
        """The media type."""
        return "image/svg+xml" if self.suffix == "svg" else "image/png"

    @property
    def path(self) -> str:
        """The URL path. It contains a digest of the content, so browsers may cache the logo permanently."""
        return f"/assets/logo-{hashlib.sha256(self.content).hexdigest()[:12]}.{self.suffix}"

    @cached_property
    def aspect_ratio(self) -> float:
        """The width divided by the height, between 1/20 and 20. It is 1 if an SVG file does not state its size."""
        width, height = _png_size(self.content) if self.suffix == "png" else _svg_size(self.content)
        return min(max(width / height, 1 / _MAX_ASPECT), _MAX_ASPECT)


def read_logo(path: Path) -> Logo:
    """Read and check a logo. Raises LogoError."""
    content = _read(path)
    if content.startswith(_PNG_START):
        _check_png(content)
        return Logo(content, "png")
    if b"<svg" not in content:
        raise LogoError("is neither a PNG nor an SVG file; export the logo in one of these formats")
    _check_svg(content.removeprefix(_BOM))
    return Logo(content, "svg")


def _read(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise LogoError("is not a file")
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise LogoError(f"cannot be read: {error.strerror}") from None
    except ValueError:  # a NUL in the path
        raise LogoError("is not a valid path") from None
    if len(content) > MAX_BYTES:
        raise LogoError(f"is larger than {MAX_BYTES // 1024} KiB; use a smaller picture")
    return content


def _check_png(content: bytes) -> None:
    """Check the chunks, their checksums and the size of the picture. Raises LogoError."""
    damaged = LogoError("is a damaged PNG file; export it again")
    at = len(_PNG_START)
    kinds: list[bytes] = []
    while at < len(content):
        length = int.from_bytes(content[at : at + 4])
        kind, data, crc = content[at + 4 : at + 8], content[at + 8 : at + 8 + length], content[at + 8 + length :][:4]
        if len(crc) < 4 or int.from_bytes(crc) != zlib.crc32(kind + data):
            raise damaged
        if not kinds and (kind != b"IHDR" or length != 13):
            raise damaged
        if not kinds and not all(1 <= int.from_bytes(data[n : n + 4]) <= _MAX_PIXELS for n in (0, 4)):
            raise LogoError(f"is wider or higher than {_MAX_PIXELS:_} pixels; use a smaller picture")
        kinds.append(kind)
        at += 12 + length
    if b"IDAT" not in kinds or kinds[-1] != b"IEND":
        raise damaged


def _png_size(content: bytes) -> tuple[int, int]:
    """Return the width and height of a checked PNG file, which are in its first chunk."""
    return int.from_bytes(content[16:20]), int.from_bytes(content[20:24])


def _svg_size(content: bytes) -> tuple[float, float]:
    """Return the width and height in the `viewBox` of a checked drawing, or else in the attributes of its root element.

    Both numbers have the same unit. The unit does not matter, because callers use only the ratio. Returns (1, 1) if the
    size is unknown.
    """
    root = ET.fromstring(content.removeprefix(_BOM))  # noqa: S314  # `read_logo` has checked the file
    for sizes, units in (
        (root.get("viewBox", "").replace(",", " ").split()[2:], {""}),
        ([root.get("width", ""), root.get("height", "")], set(_UNITS)),
    ):
        lengths = [_LENGTH.fullmatch(size) for size in sizes]
        found = [(float(each[1]), each[2]) for each in lengths if each is not None and each[2] in units]
        if len(found) == 2 and found[0][1] == found[1][1] and all(0 < size < math.inf for size, _ in found):
            return found[0][0], found[1][0]
    return 1, 1


def _check_svg(content: bytes) -> None:
    """Check that the drawing contains nothing that runs or loads anything. Raises LogoError."""
    named = _ENCODING.match(content)
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        raise LogoError("is not in UTF-8; save it in this encoding") from None
    if named is not None and named[1].lower() != b"utf-8":
        raise LogoError("is not in UTF-8; save it in this encoding")
    if _DECLARATIONS.search(content):
        raise _refused("an entity or another declaration")
    drawing = _Drawing()
    parser = ET.XMLParser(target=drawing, encoding="utf-8")  # noqa: S314  # declarations are refused above
    try:
        parser.feed(content)
        parser.close()
    except ET.ParseError as error:
        raise LogoError(f"is not well-formed XML ({error}); export it again") from None


def _refused(what: str) -> LogoError:
    return LogoError(f"contains {what}, which is not allowed in a logo; export it as a plain SVG or as PNG")


class _Drawing:
    """Checks elements, attributes and styles while the parser reads them. The parser calls these methods."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._style = ""  # the text of the current style element; the parser splits the text at comments

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Check an element. Raises LogoError."""
        namespace, name = _split(tag)
        if not self._open and tag != f"{{{_SVG}}}svg":
            raise LogoError("is not an SVG drawing: its first element must be svg, in the namespace of SVG")
        if namespace not in _IGNORED_NAMESPACES and (namespace != _SVG or name not in _ELEMENTS):
            raise _refused(f"the element {_short(name)}")
        for attribute, value in attributes.items():
            _check_attribute(*_split(attribute), value)
        self._open.append(name)

    def data(self, text: str) -> None:
        """Collect the text of a style element."""
        if self._open[-1] == "style":
            self._style += text

    def end(self, tag: str) -> None:
        """Check a style element at its end tag. Raises LogoError."""
        del tag
        if self._open.pop() == "style":
            if _LOADS.search(self._style):
                raise _refused("an address in a style")
            self._style = ""

    def pi(self, target: str, text: str | None = None) -> None:
        """Reject a processing instruction, which can load a style sheet. Raises LogoError."""
        del text
        raise _refused(f"the processing instruction {_short(target)}")

    def close(self) -> None:
        """Return nothing, because no tree is built."""


def _check_attribute(namespace: str, name: str, value: str) -> None:
    if namespace in _IGNORED_NAMESPACES:
        return
    if name.lower().startswith("on"):
        raise _refused(f"the attribute {_short(name)}")
    if name == "base" or (name.lower() == "href" and not value.strip().startswith("#")):
        raise _refused(f"the address {_short(value)}")
    if _LOADS.search(value):
        raise _refused(f"an address in the attribute {_short(name)}")


def _split(name: str) -> tuple[str, str]:
    namespace, _, local = name.removeprefix("{").rpartition("}")
    return namespace, local


def _short(text: str) -> str:
    """Return text from the file in a form that is safe to show in a message."""
    return ascii(text[:40])
