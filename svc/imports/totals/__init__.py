"""`svc import totals`: daily totals of other products, and of an export of this one.

source    the file: plain, gzip or ZIP; its text, or the lines of it
table     tables, and the days and numbers in them
formats   the products' formats, each known by its columns
tally     what was read, summed up by day, on disk
run       a dry run, and the import itself, in one transaction for each target
"""
