"""Steps of docs/operate/standby.md. tests/journeys/test_standby.py runs these steps."""

from tests.operate.documents import by_hand, elsewhere

STEPS = {
    "svc serve --standby": elsewhere(
        "tests/journeys/test_standby.py::test_one_of_two_standbys_takes_over_and_the_other_keeps_waiting"
    ),
    "sudo systemctl mask --now svc.socket": by_hand("needs a running systemd"),
    "svc health": elsewhere(
        "tests/process/test_standby.py::test_waiting_standby_does_not_listen_and_reports_to_systemd_and_health"
    ),
}
