"""How the blocks of docs/operate/install.md are run: by `make artefacts`, on the systems that they are for."""

from __future__ import annotations

from tests.operate.documents import by_hand, elsewhere

_BINARY = "tests/artefacts/every.py::test_the_binary_on_a_tree_without_python"
_NO_TEMPORARY = (
    "tests/artefacts/every.py::test_a_temporary_folder_that_will_not_do_is_told_in_words_that_the_document_has"
)
_PACKAGE = "tests/artefacts/every.py::test_the_package_on_a_fresh_debian"

STEPS = {
    "sudo apt-get install ./svc_*.deb": elsewhere(_PACKAGE),
    "sudo install -m 755 svc /usr/local/bin/svc": elsewhere(_BINARY),
    "mkdir -p ~/svc && cd ~/svc": elsewhere(_BINARY),
    "mkdir -p ~/svc/run && cd ~/svc": elsewhere(_NO_TEMPORARY),
    "docker load --input dist/svc-image.tar": by_hand(
        "it takes a daemon; the image is run by runc, in tests/artefacts"
    ),
    "docker exec --interactive --tty svc svc user add you@example.com --confirmed": by_hand("it takes a daemon"),
    "cd packaging": by_hand("it takes a daemon, and images of others"),
    "docker compose exec svc svc user add you@example.com --confirmed": by_hand("it takes a daemon"),
    "docker compose stop svc": by_hand("it takes a daemon"),
    "pipx install ./svc-*.whl": by_hand("it fetches libraries; the next block is run, from a wheelhouse"),
    "python3 -m venv svc-environment": elsewhere("tests/artefacts/every.py::test_the_wheel_in_an_empty_environment"),
}
