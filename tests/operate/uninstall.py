"""Steps of docs/operate/uninstall.md. `make artefacts` runs them after it has installed the packages."""

from tests.operate.documents import by_hand, elsewhere

_PACKAGE = "tests/artefacts/every.py::test_package_runs_on_fresh_debian"

STEPS = {
    "sudo apt-get purge svc": elsewhere(_PACKAGE),
    "sudo rm -rf /var/lib/svc /etc/svc": elsewhere(_PACKAGE),
    "sudo rm /usr/local/bin/svc": elsewhere("tests/artefacts/every.py::test_binary_runs_on_debian_without_python"),
    "docker stop --time 60 svc": by_hand("needs a Docker daemon"),
    "docker compose down --timeout 60 --volumes --rmi all": by_hand("needs a Docker daemon"),
    "pipx uninstall svc": by_hand("needs pipx; the next block removes the environment that make artefacts creates"),
    "rm -r svc-environment": elsewhere("tests/artefacts/every.py::test_wheel_runs_in_empty_environment"),
}
