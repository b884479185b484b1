"""`svc import totals`: import daily totals from other products, or from an export of this service.

source     reads a plain, gzip or ZIP file as text or lines
table      reads tables, and parses the days and numbers in their fields
formats    recognizes a product's export by its columns; reads exports of GoatCounter, Plausible and Umami
matomo, google_analytics, counterscale
           read the formats of these products
plausible  reads Plausible's daily totals and lists
month_lists
           adds up the lists of an export by month
reading    describes how a file was read
tally      collects the totals by day, temporarily on disk
run        performs the import or a dry run, in one transaction per site or link
upload     reads a file that a user uploads for one site or link
"""
