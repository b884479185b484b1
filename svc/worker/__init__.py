"""The Worker `svc-edge`: its bundle, and its database rows (see docs/develop/worker-database.md).

bundle         reads the built Worker from the package; `snippet` creates a site's snippet
config_rows    the rows of the table `config`, and the statements that write them
pushed         the parts of a push; `meta` reads the table `meta`
counts         one target's current counts; `breakdowns` and `known_sources` describe the keys of breakdowns
months         one target's whole months
imported_months
               months with the breakdowns of another product
event_lines    decodes events that the Worker has not added up yet; `rows` has the types of result rows
stored_totals  the totals of all targets, for use when the service has lost pushed totals
last_counts    the final counts, read before a disconnect deletes the database
qr_scans       the scans of an account's QR codes
ledger         the statement of counts for a day
advice         plan usage, and a forecast of when a limit is reached
explain        determines what the Worker does with a click; uses `link_rules` and `link_query`
patterns       translates the Worker's regular expressions to Python

This package reads the bundle, but does no other I/O.
"""
