"""Benchmarks that measure all documented figures on one machine."""
