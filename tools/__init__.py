"""Programs for developers, run by `make`."""
