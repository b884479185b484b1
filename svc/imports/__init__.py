"""Code that `svc import links` and `svc import totals` share.

reader     the text of an export: its encoding, its delimiter, and lines of bounded length
accounts   the accounts that the command's options name
"""
