"""Programs for developers, most of which `make` runs."""
