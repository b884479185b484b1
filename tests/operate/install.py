"""Steps of docs/operate/install.md. `make artefacts` runs them on the systems that the page names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.operate.documents import ROOT, by_hand, elsewhere

if TYPE_CHECKING:
    from tests.operate.documents import Block, NotHere, Place, Step

_BINARY = "tests/artefacts/every.py::test_binary_runs_on_debian_without_python"
_NO_TEMPORARY = "tests/artefacts/every.py::test_unusable_temporary_folder_fails_with_documented_message"
_PACKAGE = "tests/artefacts/every.py::test_package_runs_on_fresh_debian"


async def docs(place: Place, block: Block) -> None:
    """Check that the block prints the list of pages and a page, and writes the files."""
    said = await place.run(block)
    assert "operate/first-start " in said
    assert (ROOT / "docs/operate/first-start.md").read_text() in said
    assert (place.folder / "svc-docs/operate/prometheus/svc.rules.yml").exists()


STEPS: dict[str, Step | NotHere] = {
    "svc docs": docs,
    "sudo apt-get install ./svc_*.deb": elsewhere(_PACKAGE),
    "sudo install -m 755 svc-*-linux-amd64 /usr/local/bin/svc": elsewhere(_BINARY),
    "mkdir -p ~/svc-data && cd ~/svc-data": elsewhere(_BINARY),
    "mkdir -p ~/svc-data/run && cd ~/svc-data": elsewhere(_NO_TEMPORARY),
    "docker load --input svc-*-image-amd64.tar": by_hand(
        "needs a Docker daemon; tests/artefacts runs the image with runc"
    ),
    "docker exec --interactive --tty svc svc user add you@example.com --confirmed": by_hand("needs a Docker daemon"),
    "pipx install ./svc-*.whl": by_hand("downloads packages; the next block runs with a wheelhouse"),
    "python3 -m venv svc-environment": elsewhere("tests/artefacts/every.py::test_wheel_runs_in_empty_environment"),
    "svc-environment/bin/pip install --require-hashes -r svc-*-requirements.lock": by_hand(
        "downloads packages; tests/artefacts installs the same versions from a wheelhouse"
    ),
}
