"""Fuzzers, run by `make fuzz`: `server` sends broken HTTP, `contract` valid and invalid requests of the API."""
