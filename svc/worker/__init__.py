"""The worker `svc-edge`: its bundle, and its database rows (see docs/develop/worker-database.md).

This package does no I/O other than reading the bundle.
"""
