"""Steps of docs/operate/verify.md, with releases of small and of real artefacts."""

from tests.operate.documents import elsewhere

_SMALL = "tests/artefacts/test_release.py::test_documented_checks_accept_a_release_and_find_changes"

STEPS = {
    "sha256sum --check --ignore-missing SHA256SUMS": elsewhere(_SMALL),
    "ssh-keygen -Y verify -f allowed_signers -I svc -n file -s SHA256SUMS.sig < SHA256SUMS": elsewhere(_SMALL),
    "sha256sum svc_*.deb | cut -c 1-64 | grep --fixed-strings --file=- svc_*.deb.cdx.json": elsewhere(_SMALL),
    "git checkout v0.8.0": elsewhere("tests/artefacts/every.py::test_releases_of_two_builds_are_identical"),
}
