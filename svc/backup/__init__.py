"""Backups: a whole store and its key in one file, which is verified before it is restored.

archive   read and write the file format
run       backup, verify, restore
"""
