"""`svc import links`: import links from an export of another product.

table          reads the file: encoding, delimiter, and the columns with codes and destinations
restrictions   columns that mark links as banned, expired, password-protected and so on
staging        temporary storage of the rows on disk
run            the import and its dry run, in batches of one transaction each
"""
