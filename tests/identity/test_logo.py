"""Tests of the logo: its type is determined by its content, and drawings with active content are rejected."""

from __future__ import annotations

import os
import zlib

import pytest

from svc.config import ConfigError, WebConfig
from svc.identity.logo import MAX_BYTES, LogoError, read_logo
from svc.identity.operator import load_identity

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">{}</svg>'


def chunk(kind: bytes, data: bytes) -> bytes:
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


def png(width: int = 1, height: int = 1, *more: bytes) -> bytes:
    header = width.to_bytes(4) + height.to_bytes(4) + bytes([8, 0, 0, 0, 0])
    body = chunk(b"IHDR", header) + b"".join(more) + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def problem_of(tmp_path, content: bytes, name: str = "logo.svg") -> str:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(LogoError) as refused:
        read_logo(tmp_path / name)
    return str(refused.value)


@pytest.mark.parametrize("name", ["logo.png", "logo.svg", "logo.html", "logo"])
def test_content_determines_the_type(tmp_path, name):
    (tmp_path / name).write_bytes(png())
    assert read_logo(tmp_path / name).content_type == "image/png"
    (tmp_path / name).write_text(SVG.format('<path d="M0 0h9"/>'))
    logo = read_logo(tmp_path / name)
    assert logo.content_type == "image/svg+xml"
    assert logo.path.startswith("/assets/logo-")
    assert logo.path.endswith(".svg")


@pytest.mark.parametrize(
    "content",
    [
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN"'
        ' "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">\n' + SVG.format("<title>ACME &amp; Söhne</title>"),
        "\ufeff" + SVG.format(""),
        SVG.format(
            '<defs><linearGradient id="a"><stop stop-color="#fff"/></linearGradient></defs>'
            "<style>.b{fill:url(#a)} .c{fill: url( '#a' )}</style>"
            '<use xlink:href="#a"/><g class="b" style="fill:url(&quot;#a&quot;)" fill="url(#a)"/>'
        ),
        SVG.format(
            '<metadata xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><r:RDF r:about="https://x.example/"/>'
            "</metadata>"
        ),
        SVG.format('<g xmlns:i="http://www.inkscape.org/namespaces/inkscape" i:onload="url(x)"/>'),
    ],
)
def test_plain_drawing_is_accepted(tmp_path, content):
    (tmp_path / "logo.svg").write_text(content, encoding="utf-8")
    assert read_logo(tmp_path / "logo.svg").suffix == "svg"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("<script>alert(1)</script>", "the element 'script'"),
        ("<SCRIPT>alert(1)</SCRIPT>", "the element 'SCRIPT'"),
        ('<s:script xmlns:s="http://www.w3.org/2000/svg"/>', "the element 'script'"),
        ('<h:script xmlns:h="http://www.w3.org/1999/xhtml">alert(1)</h:script>', "the element 'script'"),
        ('<metadata><b xmlns="http://www.w3.org/1999/xhtml"/></metadata>', "the element 'b'"),
        ("<foreignObject><body/></foreignObject>", "the element 'foreignObject'"),
        ('<image href="https://x.example/a.png"/>', "the element 'image'"),
        ('<filter><feImage href="#a"/></filter>', "the element 'feImage'"),
        ('<a href="https://x.example/"><text>a</text></a>', "the element 'a'"),
        ('<use><set attributeName="href" to="https://x.example"/></use>', "the element 'set'"),
        ('<animate attributeName="href"/>', "the element 'animate'"),
        ('<g onload="alert(1)"/>', "the attribute 'onload'"),
        ('<g ONCLICK="alert(1)"/>', "the attribute 'ONCLICK'"),
        ('<use href="https://x.example/a.svg#b"/>', "the address 'https://x.example/a.svg#b'"),
        ('<use xlink:href="data:image/svg+xml,x"/>', "the address 'data:image"),
        ('<use xlink:href="other.svg#b"/>', "the address 'other.svg#b'"),
        ('<use href="javascript:alert(1)"/>', "the address 'javascript:alert(1)'"),
        ('<g xml:base="https://x.example/"/>', "the address 'https://x.example/'"),
        ('<g fill="url(https://x.example/a.svg#b)"/>', "an address in the attribute 'fill'"),
        ('<g style="fill:url( &quot;a.svg#b&quot; )"/>', "an address in the attribute 'style'"),
        ('<g style="fill:u\\72l(a.svg)"/>', "an address in the attribute 'style'"),
        ('<g style="mask-image:image-set(&quot;a.svg&quot; 1x)"/>', "an address in the attribute 'style'"),
        ('<style>@import "https://x.example/a.css";</style>', "an address in a style"),
        ('<style>@im<!-- -->port "a.css";</style>', "an address in a style"),
        ("<style>@font-face{src:url(a.woff)}</style>", "an address in a style"),
        ('<?xml-stylesheet href="a.css"?>', "the processing instruction 'xml-stylesheet'"),
    ],
)
def test_active_or_external_content_is_rejected(tmp_path, content, problem):
    assert problem_of(tmp_path, SVG.format(content).encode()).startswith(f"contains {problem}")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is neither a PNG nor an SVG file"),
        (b"GIF89a", "is neither a PNG nor an SVG file"),
        (b"<!doctype html><script>alert(1)</script>", "is neither a PNG nor an SVG file"),
        (b"<html><svg xmlns='http://www.w3.org/2000/svg'/></html>", "is not an SVG drawing"),
        (b"<svg></svg>", "is not an SVG drawing"),
        (SVG.format("<g>").encode(), "is not well-formed XML"),
        (SVG.format("<text>\xe9</text>").encode("latin-1"), "is not in UTF-8"),
        (b'<?xml version="1.0" encoding="UTF-7"?>' + SVG.format("").encode(), "is not in UTF-8"),
        (SVG.format("").encode("utf-16"), "is neither a PNG nor an SVG file"),
        (b'<!DOCTYPE svg [<!ENTITY a "aa">]>' + SVG.format("&a;").encode(), "contains an entity"),
        (b'<!DOCTYPE svg [<!ATTLIST svg onload CDATA "x">]>' + SVG.format("").encode(), "contains an entity"),
        (SVG.format("<g>" * 22_000).encode(), "is larger than 64 KiB"),
        (SVG.format("<g>" * 5_000 + "</g>" * 5_000).encode(), None),
    ],
)
def test_other_content_is_rejected(tmp_path, content, problem):
    if problem is None:  # deep nesting without active content is accepted
        (tmp_path / "logo.svg").write_bytes(content)
        assert read_logo(tmp_path / "logo.svg").suffix == "svg"
    else:
        assert problem_of(tmp_path, content).startswith(problem)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (png()[:-1], "is a damaged PNG file"),
        (png() + b"<script>alert(1)</script>", "is a damaged PNG file"),
        (png().replace(b"IDAT", b"iDAT"), "is a damaged PNG file"),
        (b"\x89PNG\r\n\x1a\n", "is a damaged PNG file"),
        (b"\x89PNG\r\n\x1a\n" + chunk(b"IEND", b""), "is a damaged PNG file"),
        (b"\x89PNG\r\n\x1a\n" + b"\xff" * 40, "is a damaged PNG file"),
        (png(2_049), "is wider or higher than 2_048 pixels"),
        (png(1, 0), "is wider or higher than 2_048 pixels"),
        (png(1, 2**31), "is wider or higher than 2_048 pixels"),
        (png(1, 1, chunk(b"tEXt", b"a" * MAX_BYTES)), "is larger than 64 KiB"),
    ],
)
def test_damaged_or_large_png_is_rejected(tmp_path, content, problem):
    assert problem_of(tmp_path, content, "logo.png").startswith(problem)


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for name, problem in (
        ("pipe", "is not a file"),
        (".", "is not a file"),
        ("none", "cannot be read"),
        ("a\0", "is not a valid path"),
    ):
        with pytest.raises(LogoError, match=problem):
            read_logo(tmp_path / name)


def test_setting_names_the_problem(tmp_path):
    (tmp_path / "logo.svg").write_text(SVG.format("<script/>"))
    with pytest.raises(ConfigError, match=r"\[web\] logo: .*logo\.svg contains the element 'script', which"):
        load_identity(WebConfig(logo=str(tmp_path / "logo.svg")))


@pytest.mark.parametrize(
    ("root", "aspect"),
    [
        ('viewBox="0 0 64 32"', 2),
        ('viewBox="-10,-10,30,60" width="9" height="1"', 0.5),
        ('viewBox="0 0 1e2 .5e2"', 2),
        ('width="120" height="40"', 3),
        ('width=" 12mm " height="24mm"', 0.5),
        ('viewBox="0 0 0 10" width="40px" height="10px"', 4),
        ('viewBox="0 0 1 1000"', 1 / 20),
        ('viewBox="0 0 9e999 1"', 1),
        ('viewBox="0 0 nan inf"', 1),
        ('viewBox="0 0 -4 -2"', 1),
        ('width="100%" height="50%"', 1),
        ('width="1in" height="1cm"', 1),
        ('width="10"', 1),
        ("", 1),
    ],
)
def test_aspect_ratio_of_a_drawing(tmp_path, root, aspect):
    (tmp_path / "logo").write_text(f'\ufeff<svg xmlns="http://www.w3.org/2000/svg" {root}/>', encoding="utf-8")
    assert read_logo(tmp_path / "logo").aspect_ratio == aspect


@pytest.mark.parametrize(("width", "height", "aspect"), [(9, 3, 3), (3, 9, 1 / 3), (2048, 1, 20), (1, 2048, 1 / 20)])
def test_aspect_ratio_of_a_picture(tmp_path, width, height, aspect):
    (tmp_path / "logo").write_bytes(png(width, height))
    assert read_logo(tmp_path / "logo").aspect_ratio == aspect
