"""The table of codes: how each of them comes about, where it shows, and that what its remedy says works.

case             a row, and what the test does with each
worker tokens    the rows: of the connect and the working token; of what is installed; of sites, links and their hosts
hosts
"""
