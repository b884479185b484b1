"""docs/operate/security.md: what a machine with systemd and the package is asked."""

from tests.operate.documents import by_hand

STEPS = {
    "sudo systemctl edit --full svc.service": by_hand("a running systemd"),
    "sudo systemd-run --pipe --wait --collect --uid=svc --working-directory=/var/lib/svc \\": by_hand(
        "a running systemd"
    ),
    "systemd-analyze security svc.service": by_hand("a running systemd; `make units` asks the same of the file"),
    "sudo ls -ld /var/lib/svc /etc/svc/config.toml": by_hand("the package makes them"),
}
