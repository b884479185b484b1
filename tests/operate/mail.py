"""docs/operate/mail.md: its configuration, tried with a mail server that wants the password over TLS."""

from __future__ import annotations

import ssl

import trustme

from tests.operate.documents import Block, Place, blocks
from tests.smtp_server import SmtpServer


async def _check(place: Place, block: Block) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(place.folder / "ca.pem"))
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    place.settings |= {
        "SSL_CERT_FILE": str(place.folder / "ca.pem"),
        "SVC_HTTP_BASE_URL": "https://svc.example.com",
        "SVC_STORE_URL": f"sqlite:///{place.folder}/var/lib/svc/svc.db",
    }
    [shown] = blocks("mail.md", "toml")
    with SmtpServer(tls=tls, user="svc@example.com", password="secret") as server:
        text = shown.text.replace("smtp.example.com:587", f"127.0.0.1:{server.port}")
        (place.folder / "etc/svc/config.toml").write_text(text)
        assert "run: chmod o= " in await place.run(block, fails=True)
        (place.folder / "etc/svc/config.toml").chmod(0o640)
        said = await place.run(block)
        assert "ok   mail: transport smtp is ready" in said
        assert "ok   e-mails: how many wait is not known" in said  # there is no store yet
        (place.folder / "etc/svc/config.toml").write_text(text.replace("secret", "another"))
        assert "FAIL mail: smtp: the mail server takes nothing (AUTH 535" in await place.run(block, fails=True)


STEPS = {"sudo -u svc svc check --config /etc/svc/config.toml": _check}
