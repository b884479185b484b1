"""The two engines of the store, and all that knows which of them it is.

sqlite, postgres   run transactions
migrate            the numbered files of `svc/store/schema`
sqlite_tables      the tables of a SQLite database
sqlite_file        a store as one file, the form of backups; `copies` makes and restores them
sqlite_place, postgres_place, postgres_copy, postgres_look
                   where a store lies, whether it is free, and another one in its place
condition, watch   whether the store can be used
changes            listeners to committed changes
"""
