"""Steps of docs/operate/tls.md. tests/artefacts/proxies.py runs the configurations with real web servers."""

from tests.operate.documents import by_hand

STEPS = {"sudo systemctl reload caddy": by_hand("needs a web server with a certificate for a public name")}
