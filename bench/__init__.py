"""Benchmarks that measure every documented figure on one machine."""
