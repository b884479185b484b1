"""The code shared by `svc import links` and `svc import totals`.

reader     reads an export as text: detects the encoding and the delimiter, and limits the length of rows
accounts   finds the accounts selected by the options
temporary  a database for rows that are too many to keep in memory
"""
