"""Fuzzers, run by `make fuzz`: `server` sends malformed HTTP, `contract` valid and invalid API requests."""
