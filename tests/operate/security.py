"""Steps of docs/operate/security.md, for a machine with systemd and the package."""

from tests.operate.documents import by_hand

STEPS = {
    "sudo systemctl edit --full svc.service": by_hand("needs a running systemd"),
    "sudo systemd-run --pipe --wait --collect --uid=svc --working-directory=/var/lib/svc \\": by_hand(
        "needs a running systemd"
    ),
    "systemd-analyze security svc.service": by_hand(
        "needs a running systemd; `make units` checks the same for the file"
    ),
    "sudo ls -ld /var/lib/svc /etc/svc/config.toml": by_hand("needs the installed package"),
}
