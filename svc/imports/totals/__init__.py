"""`svc import totals`: import daily totals from other products, or from an export of this service.

source    reads a plain, gzip or ZIP file as text or lines
table     reads tables, and parses the days and numbers in their fields
formats   reads the products' export formats, which are recognized by their columns
tally     stores the totals by day temporarily on disk
run       performs the import or its dry run, in one transaction per target
upload    reads a file that a user uploads for one target
"""
