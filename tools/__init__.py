"""Programs for developers. `make` runs most of them."""
