"""Tests of the installed artefacts: binary, package, image and wheel."""
