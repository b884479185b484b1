"""Benchmarks that measure all figures in the documentation, on one host."""
