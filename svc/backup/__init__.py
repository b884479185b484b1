"""Backups: a whole store and its key in one file, which is looked through before it is trusted, and put back.

archive   the file: its form, written and read
run       backup, verify, restore
"""
