"""`svc import totals`: import daily totals from other products, or from an export of this service.

source    reads the file, which is plain, gzip or ZIP, as text or lines
table     reads tables, and the days and numbers in their fields
formats   the formats of the products, recognized by their columns
tally     the totals by day, in temporary storage on disk
run       the import and its dry run, in one transaction per target
"""
