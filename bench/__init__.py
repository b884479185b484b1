"""Benchmarks for all figures in the documentation. They run on a single host."""
