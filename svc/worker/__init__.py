"""The worker `svc-edge`: its bundle, and the rows of its database as described in docs/develop/worker-database.md.

This package does no I/O except reading the bundle.
"""
