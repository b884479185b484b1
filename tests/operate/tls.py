"""docs/operate/tls.md: it is about web servers, which machines that run tests do not have."""

from tests.operate.documents import by_hand

STEPS = {"sudo systemctl reload caddy": by_hand("a web server with a certificate for a public name")}
