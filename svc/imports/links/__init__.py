"""`svc import links`: links of another product, from its export.

table          the file: encoding, delimiter, which columns hold codes and addresses
restrictions   columns that mark links as banned, expired, protected by a password and the like
staging        the rows between reading and writing, on disk
run            a dry run, and the import itself, in batches of one transaction each
"""
