"""`svc import links`: links of another product, from its export.

table   the file: encoding, delimiter, which columns hold codes and addresses
run     a dry run, and the import itself, in batches of one transaction each
"""
