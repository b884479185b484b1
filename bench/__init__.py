"""Benchmarks: what is promised in numbers, measured in one run on one machine."""
