"""Backups: a whole store and its key in one file, which is verified before it is restored.

archive   the file format, written and read
run       backup, verify, restore
"""
