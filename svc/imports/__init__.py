"""Code that `svc import links` and `svc import totals` share.

reader     reads an export as text: encoding, delimiter, and rows of limited length
accounts   finds the accounts that the options select
"""
