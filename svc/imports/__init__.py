"""Imports of links and totals, and the code that both share.

links      `svc import links`
totals     `svc import totals`
reader     reads an export as text: detects the encoding and the delimiter, and limits the length of rows
accounts   finds the accounts that the command's options select
temporary  a temporary database for rows that may not fit in memory
"""
