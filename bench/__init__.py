"""Benchmarks of all documented figures, run on one machine."""
