"""Backups: a whole store and its key in one file, which is verified before it is restored.

archive   reads and writes the backup file format
run       backs up, verifies and restores a store
"""
