"""Steps of docs/operate/mail.md. The test's mail server requires TLS and a password."""

from __future__ import annotations

import re
import ssl

import trustme

from edge_worker.harness.service import eventually
from edge_worker.local_http import local_client
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
        # the length of the queue is unknown, because there is no store yet
        assert "ok   emails: queue length unknown" in said
        (place.folder / "etc/svc/config.toml").write_text(text.replace("secret", "another"))
        assert "FAIL mail: smtp: the mail server does not accept emails (AUTH 535" in await place.run(block, fails=True)


async def _reset(place: Place, block: Block) -> None:
    (place.folder / "etc/svc/config.toml").unlink()
    place.settings |= {
        "SVC_MAIL_FOLDER": f"{place.folder}/var/lib/svc/mail",
        "SVC_VAULT_KEY_FILE": f"{place.folder}/var/lib/svc/vault.key",
        "SVC_HTTP_BIND": "127.0.0.1:0",
    }
    add = "svc user add you@example.com --confirmed --password-stdin\n"
    await place.run(Block("mail.md", 0, "sh", add), "a long password\n")
    await place.start(Block("mail.md", 0, "sh", "svc serve\n"))

    async def written() -> bool | None:
        return bool(list((place.folder / "var/lib/svc/mail").glob("*.eml"))) or None

    async with local_client() as client:
        asked = await client.post(f"{place.url}/auth/password-reset", json={"email": "you@example.com"})
        assert asked.status_code == 202
        await eventually(written)
        said = await place.run(block)
        assert "To: you@example.com" in said
        [token] = set(re.findall(r"https://svc\.example\.com/reset\?token=([\w-]+)", said))
        reset = {"token": token, "password": "another long password"}
        assert (await client.post(f"{place.url}/auth/password-reset/confirm", json=reset)).status_code == 200
    await place.stop()


STEPS = {
    "sudo -u svc svc check --config /etc/svc/config.toml": _check,
    """sudo sh -c 'cat "$(ls -t /var/lib/svc/mail/*.eml | head -n 1)"'""": _reset,
}
