"""The store's two engines, and all code that depends on the engine.

sqlite, postgres   run transactions
migrate            the numbered files in `svc/store/schema`
sqlite_tables      the tables of a SQLite database
sqlite_file        a store as one file, the format of backups; `copies` makes and restores them
sqlite_place, postgres_place, postgres_copy
                   copy and replace a store
postgres_pool      the pool of PostgreSQL connections
postgres_poll      checks whether a PostgreSQL store is free; for SQLite, see `sqlite_place.is_free`
condition, watch   store health
changes            listeners to committed changes
served             temporary reasons why a store cannot be opened
"""
