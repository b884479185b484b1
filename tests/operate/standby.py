"""docs/operate/standby.md: two services and their end are the matter of the tests of the standby."""

from tests.operate.documents import by_hand, elsewhere

STEPS = {
    "svc serve --standby": elsewhere(
        "tests/journeys/test_standby.py::test_of_two_that_wait_one_takes_over_and_the_other_goes_on_waiting"
    ),
    "sudo systemctl mask --now svc.socket": by_hand("a running systemd"),
    "svc health": elsewhere(
        "tests/process/test_standby.py::test_one_that_waits_listens_nowhere_and_tells_systemd_and_svc_health_that_it_lives"
    ),
}
