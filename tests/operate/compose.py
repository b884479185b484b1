"""Steps of docs/operate/compose.md."""

from tests.operate.documents import by_hand

STEPS = {
    "cd packaging": by_hand("needs a Docker daemon and public images"),
    "docker compose exec svc svc user add you@example.com --confirmed": by_hand("needs a Docker daemon"),
    "docker compose cp backup:/var/lib/svc/backups .": by_hand("needs a Docker daemon"),
    "docker compose stop svc": by_hand("needs a Docker daemon"),
}
