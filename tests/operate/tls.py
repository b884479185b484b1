"""Steps of docs/operate/tls.md. They need a web server."""

from tests.operate.documents import by_hand

STEPS = {"sudo systemctl reload caddy": by_hand("needs a web server with a certificate for a public name")}
