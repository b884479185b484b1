"""The store's two engines (SQLite and PostgreSQL), and all code that depends on the engine.

sqlite, postgres   run transactions
migrate            reads the numbered migrations in `svc/store/schema`
sqlite_tables      migrates and checks the tables of a SQLite database
sqlite_file        a store as one file, the format of backups; `copies` makes and restores them
sqlite_place, postgres_place, postgres_copy
                   copy and replace a store
postgres_pool      the pool of PostgreSQL connections
postgres_poll      checks whether a PostgreSQL store is free; for SQLite, see `sqlite_place.is_free`
condition, watch   monitor the store's health
changes            notifies listeners of committed changes
served             errors for a store that cannot be opened at the moment
"""
