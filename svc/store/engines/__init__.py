"""The store's two engines (SQLite and PostgreSQL), and all code that depends on the engine.

sqlite, postgres   run transactions, and open, copy and replace stores
migrate            reads the numbered migrations in `svc/store/schema`
copies             makes and restores copies of a whole store, for both engines
condition, watch   monitor the store's health
changes            notifies listeners of committed changes
served             errors for a store that cannot be opened at the moment
"""
