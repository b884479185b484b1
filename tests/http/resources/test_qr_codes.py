"""QR codes of links: styles, refusals and limits, ZIP files, and the printable page."""

from __future__ import annotations

import html
import io
import re
import time
import xml.etree.ElementTree as ET
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
import pytest
import trio
from PIL import Image

from svc.config import WebConfig
from svc.http.resources.qr_codes import PNGS_PER_MINUTE, SETS_PER_HOUR, file_names
from svc.identity.logo import read_logo
from svc.qr.png import draw_png
from svc.qr.style import Style
from svc.qr.svg import draw_svg
from svc.store import links
from tests.cases import cases
from tests.http.conftest import OTHER_EDGE_ACCOUNT, config_of, open_world
from tests.http.serving.test_refusals import is_error
from tests.qr.images import SVG, dark_logo, drawn, flat, logo_of, scan
from tests.qr.test_raster import file_of
from tests.store import makers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from svc.model import Account, Link
    from svc.store.tx import Store
    from tests.clock import FrozenClock
    from tests.http.conftest import Response, World

DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 32"><rect width="64" height="32"/></svg>'


@asynccontextmanager
async def world_with_logo(store: Store, clock: FrozenClock, folder: Path, logo: bytes) -> AsyncIterator[World]:
    """The application of an operator who has configured this logo."""
    (folder / "logo").write_bytes(logo)
    config = config_of(folder)
    web = WebConfig(logo=str(folder / "logo"))
    async with open_world(store, clock, folder, config.model_copy(update={"web": web})) as opened:
        yield opened


async def add_links(
    world: World, account: Account, *codes: str, title: str | None = None, tags: tuple[str, ...] = ()
) -> list[Link]:
    """Add links with these codes, oldest first. All have this title and these tags."""
    made = [
        replace(makers.new_link(account.user_id, account.id, code, at=i), title=title, tags=tags)
        for i, code in enumerate(codes)
    ]
    await world.store.run(links.add_links(made, 100_000))
    return made


async def one_link(world: World, code: str = "ab3X9k") -> tuple[dict[str, str], str]:
    """Create a user with one link. Return the headers of a session, and the path of the link."""
    _, session, account = await world.ready()
    [link] = await add_links(world, account, code)
    return session, f"/v1/links/{link.id}"


@pytest.fixture
async def linked(world: World) -> tuple[dict[str, str], str]:
    """The headers of a session, and the path of the only link of the session's user."""
    return await one_link(world)


def issue_of(response: Response) -> tuple[str, str]:
    is_error(response, 400, "invalid_request")
    [issue] = response.body["error"]["details"]["issues"]
    return issue["path"], issue["code"]


async def test_png_has_the_requested_size_and_style(world):
    session, path = await one_link(world)
    text = "https://go.example.com/ab3X9k?q"
    response = await world.call("GET", f"{path}/qr.png", headers=session)
    assert response.headers["Content-Type"] == "image/png"
    assert response.raw == draw_png(text, Style(), 1024)
    assert [each.text for each in scan(flat(response.raw))] == [text]
    asked = f"{path}/qr.png?size=300&dark=%230B3d2e&light=transparent&margin=1"
    response = await world.call("GET", asked, headers=session)
    assert response.raw == draw_png(text, Style("#0b3d2e", None, 1), 300)
    response = await world.call("GET", f"{path}/qr.svg?size=300&dark=12e&light=FfC&margin=0", headers=session)
    assert response.raw.decode() == draw_svg(text, Style("#1122ee", "#ffffcc", 0), 300)
    head = await world.call("HEAD", f"{path}/qr.png", headers=session)
    assert (head.status, head.headers["Content-Type"]) == (200, "image/png")


@pytest.mark.parametrize(
    "logo", [dark_logo(64, 64).content, dark_logo(256, 64).content, DRAWING.encode()], ids=["square", "wide", "svg"]
)
async def test_logo_is_in_the_center(store, clock, tmp_path, logo):
    async with world_with_logo(store, clock, tmp_path, logo) as world:
        session, path = await one_link(world)
        for kind in ("svg", "png"):
            response = await world.call("GET", f"{path}/qr.{kind}?logo=1", headers=session)
            if kind == "png" and logo == DRAWING.encode():
                assert issue_of(response) == ("logo", "not_offered")
                assert "SVG file" in response.body["error"]["details"]["issues"][0]["message"]
                continue
            image = flat(response.raw) if kind == "png" else drawn(response.raw.decode())
            assert [(each.text, each.ec_level) for each in scan(image)] == [("https://go.example.com/ab3X9k?q", "H")]
            policy = response.headers["Content-Security-Policy"]
            assert ("img-src data:" in policy) == (kind == "svg")
        plain = await world.call("GET", f"{path}/qr.svg", headers=session)
        assert plain.raw.decode() == draw_svg("https://go.example.com/ab3X9k?q")
        assert "img-src" not in plain.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "logo",
    [file_of(8, 8, 8, 0, b"\0" * 72, interlace=1), file_of(8, 8, 8, 0, b"\0"), file_of(1025, 1, 1, 0, b"\0" * 130)],
    ids=["interlaced", "damaged", "too wide"],
)
async def test_logo_that_cannot_be_read_is_refused_in_png(store, clock, tmp_path, logo):
    async with world_with_logo(store, clock, tmp_path, logo) as world:
        session, path = await one_link(world)
        for asked in (f"{path}/qr.png?logo=1", "/v1/links/qr.zip?logo=1&format=png"):
            assert issue_of(await world.call("GET", asked, headers=session)) == ("logo", "not_offered")
        assert (await world.call("GET", f"{path}/qr.svg?logo=1", headers=session)).status == 200


@cases(
    ("query", "issue"),
    [
        ("size=63", ("size", "too_small")),
        ("size=64", ("size", "too_small")),  # with this size, a module is less than two pixels wide
        ("size=4097", ("size", "too_large")),
        ("size=99999999999999999999", ("size", "not_integer")),
        ("size=512.0", ("size", "not_integer")),
        ("size=256&margin=64", ("margin", "too_large")),
        ("margin=21", ("margin", "too_large")),
        ("margin=-1", ("margin", "not_integer")),
        ("dark=red", ("dark", "wrong_form")),
        ("dark=12345", ("dark", "wrong_form")),
        ("dark=%23%2312345", ("dark", "wrong_form")),
        ("dark=1234567", ("dark", "wrong_form")),
        ("dark=123456%0a", ("dark", "wrong_form")),
        ("dark=%D9%A1%D9%A2%D9%A3", ("dark", "wrong_form")),  # Arabic digits
        ("dark=transparent", ("dark", "wrong_form")),
        ("dark=", ("dark", "wrong_form")),
        ("light=%22/%3E%3Cscript%3E", ("light", "wrong_form")),
        ("light=Transparent", ("light", "wrong_form")),
        ("logo=1", ("logo", "not_offered")),  # the operator has not configured a logo
        ("logo=true", ("logo", "not_offered")),
        ("dark=808080", ("dark", "low_contrast")),
        ("dark=ff8800", ("dark", "low_contrast")),
        ("light=7f7f7f", ("dark", "low_contrast")),
        ("dark=808080&light=transparent", ("dark", "low_contrast")),
        ("dark=fff&light=000", ("dark", "low_contrast")),  # the dark color is lighter than the light color
        ("dark=fff", ("dark", "low_contrast")),
        ("color=fff", ("color", "unknown")),
        ("dark=000&dark=111", ("dark", "twice")),
    ],
)
async def test_style_that_cannot_be_scanned_is_refused(world, linked, query, issue):
    session, path = linked
    assert issue_of(await world.call("GET", f"{path}/qr.png?{query}", headers=session)) == issue
    if issue[0] != "size":
        assert issue_of(await world.call("GET", f"{path}/qr.svg?{query}", headers=session)) == issue
        for asked in (f"/v1/links/qr.zip?{query}", f"/v1/links/qr.html?{query}"):
            if "size" not in query:
                assert issue_of(await world.call("GET", asked, headers=session)) == issue


async def test_lowest_contrast_is_accepted(world):
    session, path = await one_link(world)
    for query in ("dark=7f7f7f", "light=808080", "dark=00f&light=ff0", "dark=7f7f7f&light=transparent"):
        assert (await world.call("GET", f"{path}/qr.svg?{query}", headers=session)).status == 200


async def test_refusal_names_the_smallest_size(world):
    session, path = await one_link(world)
    response = await world.call("GET", f"{path}/qr.png?size=64&margin=20", headers=session)
    [issue] = response.body["error"]["details"]["issues"]
    assert issue["limit"] == 2 * (29 + 40)
    assert (await world.call("GET", f"{path}/qr.png?size={issue['limit']}&margin=20", headers=session)).status == 200


async def test_number_of_png_images_is_limited_per_user(world, clock):
    session, path = await one_link(world)
    for _ in range(PNGS_PER_MINUTE):
        assert (await world.call("GET", f"{path}/qr.png?size=128", headers=session)).status == 200
    response = await world.call("GET", f"{path}/qr.png?size=128", headers=session)
    is_error(response, 429, "rate_limited")
    assert response.headers["Retry-After"] == "60"
    assert (await world.call("GET", f"{path}/qr.svg?dark=111", headers=session)).status == 200
    other, other_path = await other_user(world)
    assert (await world.call("GET", f"{other_path}/qr.png?size=128", headers=other)).status == 200
    clock.advance_s(60)
    assert (await world.call("GET", f"{path}/qr.png?size=128", headers=session)).status == 200


async def other_user(world: World) -> tuple[dict[str, str], str]:
    user = await world.user()
    account = await world.account(user, OTHER_EDGE_ACCOUNT, link_host="go.example.org")
    [link] = await add_links(world, account, "theirs")
    return await world.session(user), f"/v1/links/{link.id}"


async def test_number_of_zip_files_and_pages_is_limited_per_user(world):
    session, _ = await one_link(world)
    for i in range(SETS_PER_HOUR):
        asked = f"/v1/links/qr.{'zip' if i % 2 else 'html'}"
        assert (await world.call("GET", asked, headers=session)).status == 200
    for asked in ("/v1/links/qr.zip", "/v1/links/qr.html"):
        is_error(await world.call("GET", asked, headers=session), 429, "rate_limited")


async def zipped(world: World, session: dict[str, str], query: str = "") -> dict[str, bytes]:
    response = await world.call("GET", f"/v1/links/qr.zip?{query}", headers=session)
    assert response.status == 200, response.raw
    assert response.headers["Content-Disposition"] == 'attachment; filename="qr-codes.zip"'
    with ZipFile(io.BytesIO(response.raw)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


async def test_zip_contains_a_file_for_each_link(world):
    _, session, account = await world.ready()
    made = await add_links(world, account, "spring", "Con", "-x_", "spring-2", "SPRING")
    files = await zipped(world, session)
    assert list(files) == ["qr-spring.svg", "qr-Con.svg", "qr--x_.svg", "qr-spring-2.svg", "qr-SPRING-3.svg"]
    assert files["qr-SPRING-3.svg"].decode() == draw_svg("https://go.example.com/SPRING?q")
    files = await zipped(world, session, "format=png&size=300&dark=0b3d2e&margin=2&order=code&q=SPR")
    assert list(files) == ["qr-SPRING.png", "qr-spring-2.png", "qr-spring-2-2.png"]
    for name, code in zip(files, ("SPRING", "spring", "spring-2"), strict=True):
        assert files[name] == draw_png(f"https://go.example.com/{code}?q", Style("#0b3d2e", margin=2), 300)
    asked = f"ids={made[3].id},{made[0].id},{made[3].id}"
    assert list(await zipped(world, session, asked)) == ["qr-spring-2.svg", "qr-spring.svg"]


async def test_links_are_selected_by_tag_and_title(world):
    _, session, account = await world.ready()
    await add_links(world, account, "one", "two", tags=("spring-sale",))
    await add_links(world, account, "three", title="Frühling", tags=("spring",))
    await add_links(world, account, "four")
    for query, codes in (
        ("tag=Spring%20Sale", ["one", "two"]),
        ("tag=spring&order=newest", ["three"]),
        ("q=FR%C3%9CH", ["three"]),
        ("tag=spring-sale&q=tw", ["two"]),
    ):
        assert list(await zipped(world, session, query)) == [f"qr-{code}.svg" for code in codes]
        page = (await world.call("GET", f"/v1/links/qr.html?{query}", headers=session)).raw.decode()
        assert re.findall(r"</b>go.example.com/(\w+)<", page) == codes
    for kind in ("zip", "html"):
        is_error(await world.call("GET", f"/v1/links/qr.{kind}?tag=other", headers=session), 404, "not_found")


def test_file_names_are_unique_without_case():
    names = file_names(["ab", "AB", "ab-2", "Ab-2", "aB"], "svg")
    assert names == ["qr-ab.svg", "qr-AB-2.svg", "qr-ab-2-2.svg", "qr-Ab-2-3.svg", "qr-aB-3.svg"]
    assert len({name.lower() for name in names}) == 5


async def test_zip_of_png_images_with_logo_can_be_scanned(store, clock, tmp_path):
    async with world_with_logo(store, clock, tmp_path, dark_logo(512, 128).content) as world:
        _, session, account = await world.ready()
        await add_links(world, account, "abc", "x" * 32)
        files = await zipped(world, session, "format=png&size=300&logo=1&margin=20")
        texts = [[each.text for each in scan(flat(image))] for image in files.values()]
        assert texts == [[f"https://go.example.com/{code}?q"] for code in ("abc", "x" * 32)]


async def test_too_many_links_are_refused(world):
    _, session, account = await world.ready()
    made = await add_links(world, account, *(f"code-{i:03}" for i in range(501)))
    for asked, most in (("/v1/links/qr.zip", 500), ("/v1/links/qr.html", 200)):
        response = await world.call("GET", asked, headers=session)
        assert issue_of(response) == ("", "too_many")
        assert response.body["error"]["details"]["issues"][0]["limit"] == most
    ids = [link.id for link in made]
    response = await world.call("GET", f"/v1/links/qr.zip?ids={','.join(ids[:201])}", headers=session)
    assert issue_of(response) == ("ids", "too_many")
    assert len(await zipped(world, session, f"ids={','.join(reversed(ids[:200]))}")) == 200
    response = await world.call("GET", f"/v1/links/qr.zip?ids={','.join(ids[:400])}", headers=session)
    assert "at most 6000 characters" in response.body["error"]["details"]["issues"][0]["message"]


@cases(
    ("query", "issue"),
    [
        ("ids=", ("ids", "wrong_form")),
        ("ids=lnk_aaaaaaaaaaaaaaaaaaa1", ("ids", "wrong_form")),
        ("ids=lnk_aaaaaaaaaaaaaaaaaaaa,", ("ids", "wrong_form")),
        ("ids=lnk_aaaaaaaaaaaaaaaaaaaa;lnk_aaaaaaaaaaaaaaaaaaaa", ("ids", "wrong_form")),
        ("ids=lnk_aaaaaaaaaaaaaaaaaaaa&q=a", ("q", "not_combinable")),
        ("ids=lnk_aaaaaaaaaaaaaaaaaaaa&tag=a", ("tag", "not_combinable")),
        ("ids=lnk_aaaaaaaaaaaaaaaaaaaa&order=code", ("order", "not_combinable")),
        ("ids=lnk_aaaaaaaaaaaaaaaaaaaa&account_id=acc_a", ("account_id", "not_combinable")),
        ("order=clicks", ("order", "not_offered")),
        ("format=gif", ("format", "not_offered")),
        ("size=299", ("size", "too_small")),
        ("size=2049", ("size", "too_large")),
        ("q=" + "x" * 51, ("q", "too_long")),
    ],
)
async def test_selection_that_is_not_valid_is_refused(world, linked, query, issue):
    session, _ = linked
    assert issue_of(await world.call("GET", f"/v1/links/qr.zip?{query}", headers=session)) == issue


async def test_only_own_active_links_are_selected(world):
    user, session, account = await world.ready()
    first, second = await add_links(world, account, "first", "second")
    theirs, their_path = await other_user(world)
    elsewhere = await world.key(user, "links", allow_accounts=("e" * 32,))
    await world.store.run(links.delete_link(account.id, second.id, world.clock()))
    assert list(await zipped(world, session)) == ["qr-first.svg"]
    assert list(await zipped(world, theirs)) == ["qr-theirs.svg"]
    for headers, query in (
        (session, f"ids={first.id},{second.id}"),  # these links are deleted
        (session, f"ids={first.id},{their_path.rpartition('/')[2]}"),
        (theirs, f"ids={first.id}"),
        (theirs, f"account_id={account.id}"),
        (elsewhere, ""),
        (elsewhere, f"ids={first.id}"),
        (session, "q=nothing"),
    ):
        for kind in ("zip", "html"):
            is_error(await world.call("GET", f"/v1/links/qr.{kind}?{query}", headers=headers), 404, "not_found")


@pytest.mark.parametrize("paper", ["a4", "letter"])
@pytest.mark.parametrize("logo", [None, DRAWING.encode(), dark_logo(128, 64).content], ids=["none", "svg", "png"])
async def test_page_shows_the_code_and_short_url_of_each_link(store, clock, tmp_path, logo, paper):
    async with world_with_logo(store, clock, tmp_path, logo or DRAWING.encode()) as world:
        _, session, account = await world.ready()
        await add_links(world, account, "one", "two", "three", "four")
        query = f"paper={paper}&dark=0b3d2e{'&logo=1' if logo else ''}"
        language = {"Accept-Language": "de"}
        response = await world.call("GET", f"/v1/links/qr.html?{query}", headers={**session, **language})
        assert response.headers["Content-Type"] == "text/html; charset=utf-8"
        page = response.raw.decode()
        assert '<html lang="de">' in page
        assert "<title>QR-Codes</title>" in page
        assert f"@page{{size:{'A4' if paper == 'a4' else 'letter'};margin:12mm}}" in page
        captions = re.findall(r"<figcaption><b>(.*?)</b>(.*?)</figcaption>", page)
        assert captions == [(code, f"go.example.com/{code}") for code in ("one", "two", "three", "four")]
        assert [row.count("<figure>") for row in page.split('<div class="row">')[1:]] == [3, 1]
        assert page.count("data:image/") == (1 if logo else 0)
        assert page.count('<use href="#logo"') == (4 if logo else 0)
        assert page.endswith("</html>\n")
        found = [code_in(picture) for picture in re.findall(r"<figure>(<svg.*?</svg>)", page)]
        level = "H" if logo else "M"
        assert found == [(f"https://go.example.com/{code}?q", level) for code in ("one", "two", "three", "four")]


def code_in(picture: str) -> tuple[str, str]:
    """Scan a QR code from the printable page, with a black box in place of the logo."""
    root = ET.fromstring(picture)
    for logo in root.findall(f"{SVG}use"):
        root.remove(logo)
        attributes = {name: logo.attrib[name] for name in ("x", "y", "width", "height")}
        ET.SubElement(root, f"{SVG}image", {**attributes, "{http://www.w3.org/1999/xlink}href": "data:"})
    [code] = scan(drawn(ET.tostring(root, encoding="unicode")))
    return code.text, code.ec_level


async def test_page_shows_the_title_of_a_link(world):
    _, session, account = await world.ready()
    title = "</b><script>alert(1)</script> \"Sö\" & 'x' 漢字"
    await add_links(world, account, "sale", title=title)
    page = (await world.call("GET", "/v1/links/qr.html", headers=session)).raw.decode()
    [(name, url)] = re.findall(r"<figcaption><b>(.*?)</b>(.*?)</figcaption>", page)
    assert (html.unescape(name), url) == (title, "go.example.com/sale")
    assert "<script" not in page
    assert "漢字" in name


async def test_page_has_only_allowed_styles_and_no_scripts(world):
    session, _ = await one_link(world)
    response = await world.call("GET", "/v1/links/qr.html", headers=session)
    policy = response.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    page = response.raw.decode()
    assert not re.search(r"<script|\sstyle=|\son\w+=|javascript:|<a\s", page)
    assert html.unescape(page) == page  # nothing in this page needs to be escaped


async def test_drawing_does_not_block_other_requests(store, clock, tmp_path):
    """While a large image with a logo is drawn, no single step of the event loop takes more than a quarter of the
    drawing's CPU time.
    """
    pixels = np.random.default_rng(1).integers(0, 2, (512, 512), dtype=np.uint8) * 255
    logo = logo_of(np.kron(pixels, np.ones((1, 1), dtype=np.uint8)))

    class Steps(trio.abc.Instrument):
        longest_s = began_s = 0.0

        def before_task_step(self, task: Any) -> None:
            self.began_s = time.thread_time()

        def after_task_step(self, task: Any) -> None:
            if self.began_s:  # ignore the step that adds the instrument
                self.longest_s = max(self.longest_s, time.thread_time() - self.began_s)

    async with world_with_logo(store, clock, tmp_path, logo.content) as world:
        session, path = await one_link(world)
        # load modules and prepare statements before the measurement
        await world.call("GET", f"{path}/qr.svg", headers=session)
        steps = Steps()
        trio.lowlevel.add_instrument(steps)
        try:
            response = await world.call("GET", f"{path}/qr.png?size=4096&logo=1", headers=session)
        finally:
            trio.lowlevel.remove_instrument(steps)
    assert Image.open(io.BytesIO(response.raw)).size == (4096, 4096)
    began_s = time.thread_time()
    draw_png("https://go.example.com/another?q", Style(logo=read_logo(tmp_path / "logo")), 4095)
    assert steps.longest_s < (time.thread_time() - began_s) / 4
