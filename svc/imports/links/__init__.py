"""`svc import links`: import links from an export of another product.

table          reads the file: detects the encoding, the delimiter, and the columns with codes and destinations
options        reads the rules, the period, the query option and the split
texts          reads titles, notes and tags
restrictions   reads start and expiry dates, and the columns that mark links as banned, password-protected and so on
staging        stores the rows temporarily on disk
run            performs the import or a dry run, in batches of one transaction each
"""
