"""Tests of emails: format, delivery to the mail folder, and valid addresses."""

from __future__ import annotations

import email
import email.policy
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc.addresses import parse_email
from svc.config import MailConfig
from svc.mail import messages
from svc.mail.messages import Email
from svc.mail.smtp import ServerUnavailable
from svc.mail.transport import check_mail, message_of, new_sender
from svc.model import LANGUAGES

LINK = "https://svc.example/confirm?token=" + "x" * 90
EMAIL = Email("ann@example.com", "Grüße", f"Öffne diesen Link:\n\n{LINK}\n\nDanke.")


async def into_folder(folder, *written):
    sender = new_sender(MailConfig(folder=folder))
    for one in written:
        await sender.connect()
        await sender.send(one)
    await sender.rest()


async def test_each_email_becomes_a_file(tmp_path):
    await into_folder(tmp_path / "mail", EMAIL, EMAIL, EMAIL)
    files = list((tmp_path / "mail").iterdir())
    assert len(files) == 3
    assert all(path.suffix == ".eml" for path in files)
    assert [stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "mail", *files]] == [0o700, 0o600, 0o600, 0o600]
    text = files[0].read_text()
    assert "To: ann@example.com" in text
    assert f"\n{LINK}\n" in text  # a link is never wrapped


async def test_folder_that_cannot_be_written_counts_as_unreachable_server(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ServerUnavailable):
        await into_folder(tmp_path / "file", EMAIL)


@pytest.mark.parametrize(
    "wrong",
    [
        Email("=?utf-8?q?a=0d=0ab?=@x", "Subject", "text"),
        Email("ann@example.com\r\nBcc: eve@example.com", "Subject", "text"),
        Email("ann@example.com", "Subject\r\nBcc: eve@example.com", "text"),
        Email("", "", ""),
        Email("ann@example.com", "Subject", "\ud800"),
    ],
)
async def test_invalid_email_raises_and_leaves_no_file(tmp_path, wrong):
    with pytest.raises((ValueError, LookupError)):
        await into_folder(tmp_path / "mail", wrong)
    assert not list(tmp_path.glob("mail/*"))


async def test_email_marked_as_not_to_send_leaves_no_file(tmp_path):
    await into_folder(tmp_path / "mail", replace(EMAIL, send=False))
    assert list((tmp_path / "mail").iterdir()) == []


class Html(HTMLParser):
    """The text, tags and URLs of an HTML page."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.tags: list[str] = []
        self.links: list[str | None] = []
        self._silent = False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._silent = tag == "title"
        self.links += [value for name, value in attrs if name in ("href", "src", "action", "background")]

    def handle_endtag(self, tag):
        self._silent = False

    def handle_data(self, data):
        self.text += "" if self._silent else data


def parts_of(one: Email) -> tuple[str, Html]:
    """Return the plain text of an email, and its parsed HTML."""
    message = email.message_from_bytes(message_of("svc@localhost", one).as_bytes(), policy=email.policy.default)
    assert message.get_content_type() == "multipart/alternative"
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert html is not None
    read = Html()
    read.feed(html.get_content())
    return plain.get_content(), read


NASTY = (
    "<script>alert(1)</script><img src=https://evil.example/x.png>",
    "Shop\r\nBcc: eve@example.com",
    "Shop\n\nhttps://evil.example/\n\nShop",
    "\N{RIGHT-TO-LEFT OVERRIDE}pohs\N{LEFT-TO-RIGHT ISOLATE}\N{ZERO WIDTH SPACE}\x00\x1b[31m\u2028",
    "&lt;b&gt; 'x' \"y\" {title} {0} %s",
    "=?utf-8?q?Shop=0d=0aBcc:_eve@example.com?=",
    "x" * 5_000,
)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("message", [None, *NASTY])
def test_both_parts_have_the_same_text_and_external_text_is_escaped(name, message, language):
    link = "https://svc.example/accounts/acc_1?a=1&b=2"
    notice = {"trouble": "resource_drift", "code": "cloudflare_error", "message": message}
    one = messages.about_account(language, "ann@example.com", name, notice, link, mail_id="mail_1")
    plain, page = parts_of(one)
    assert page.text.replace(f"{one.button}\n", "", 1).split() == plain.split() == one.text.split()
    assert set(page.tags) <= {"html", "head", "meta", "title", "body", "p", "a", "br"}
    assert page.links == [link, link]  # both are the same link: the button, and the URL below it
    assert f"\n{link}\n" in plain
    assert not [letter for letter in plain if not letter.isprintable() and letter != "\n"]
    assert all(len(line) <= 76 for line in plain.split("\n") if " " in line)
    head = message_of("svc@localhost", one)
    assert [field.lower() for field in head if field.lower() in ("to", "cc", "bcc")] == ["to"]
    assert head["Auto-Submitted"] == "auto-generated"
    assert head["Message-ID"] == "<mail_1@localhost>"
    assert len(str(head["Subject"])) < 300


@given(st.text(), st.text())
def test_both_parts_contain_any_text(title, text):
    body = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
    shown = "".join(letter if letter.isprintable() else " " for letter in title)
    plain, page = parts_of(Email("ann@example.com", shown, body))
    assert page.text.split() == plain.split() == body.split()
    assert set(page.tags) <= {"html", "head", "meta", "title", "body", "p", "a", "br"}


def test_repr_of_an_email_omits_its_text():
    assert "token" not in repr(EMAIL)


ATOMS = st.text("abcXYZ019!#$%&'*+/=?^_`{|}~-.\"(),:;<>@[\\] \r\n\t\x00\u00e9\u0130\uff20\ud800", max_size=70)
ADDRESSES = st.builds("{}@{}".format, ATOMS, st.from_regex(r"[a-zA-Z0-9.-]{1,70}", fullmatch=True)) | st.text()
GOOD = st.from_regex(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]{1,60}(\.[a-z0-9=?_]{1,4})?@(xn--)?[a-z0-9]{1,60}(\.[a-z]{1,60}){1,3}", fullmatch=True
)


@given(ADDRESSES | GOOD)
@example("=?utf-8?q?a=0d=0ab?=@example.com")
@example("=?utf-8?b?YQ==?=@example.com")
@example("'o=?@example.com")
@example("a" * 64 + "@" + ".".join(["b" * 61] * 3) + ".cc")
def test_accepted_address_becomes_the_only_recipient(text):
    try:
        address = parse_email(text)
    except ValueError:
        return
    assert address == text.lower()
    assert len(address) <= 254
    raw = message_of("svc@localhost", Email(address, "Subject", "text")).as_bytes()
    head = raw.partition(b"\n\n")[0].split(b"\n")
    assert f"To: {address}".encode() in head
    assert len(head) == len([line for line in head if re.match(rb"[A-Za-z-]+: ", line)])
    for policy in (email.policy.default, email.policy.SMTP):
        message = email.message_from_bytes(raw, policy=policy)
        [to] = message["To"].addresses
        assert (to.addr_spec, to.display_name) == (address, "")
        assert not message.defects
        assert not message["To"].defects
        assert [name for name in message if name.lower() in ("to", "cc", "bcc")] == ["To"]


@pytest.mark.parametrize(
    "address",
    [
        "ann@example.com",
        "o'brien+tag@mail.example.co.uk",
        "first.last@xn--bcher-kva.example",
        "{a|b}=c?d@example.com",
        "1@1.example",
        "a" * 64 + "@example.com",
    ],
)
def test_common_and_unusual_addresses_are_accepted(address):
    assert parse_email(address.upper()) == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "@example.com",
        "ann@",
        "@",
        "a@b@example.com",
        "ann@localhost",
        "ann@192.0.2.1",
        "ann@[192.0.2.1]",
        "ann @example.com",
        " ann@example.com",
        "ann@example.com\n",
        ".ann@example.com",
        "ann.@example.com",
        "a..n@example.com",
        "ann@example..com",
        "ann@-example.com",
        "ann@example-.com",
        "ann@example.com.",
        '"ann"@example.com',
        "ann(comment)@example.com",
        "Ann <ann@example.com>",
        "ann@example.com,eve@example.com",
        "ann@ex_ample.com",
        "\u00e4nn@example.com",
        "ann@b\u00fccher.example",
        "ann@exam\uff0eple.com",
        "=?utf-8?q?a=0d=0ab?=@x.example",
        "a" * 65 + "@example.com",
        "a@" + "b." * 130 + "example",
    ],
)
def test_invalid_addresses_are_refused(address):
    with pytest.raises(ValueError, match=r"^must be an email address$"):
        parse_email(address)


async def test_check_reports_whether_emails_can_be_sent(tmp_path):
    await check_mail(MailConfig(folder=tmp_path / "new"))
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        await check_mail(MailConfig(folder=tmp_path / "file"))
    (tmp_path / "new").mkdir(mode=0o755)
    with pytest.raises(OSError, match="chmod 700"):
        await check_mail(MailConfig(folder=tmp_path / "new"))
