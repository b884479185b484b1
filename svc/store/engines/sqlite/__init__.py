"""The SQLite engine.

store       runs transactions
statements  runs the statements of a transaction on a connection
opening     opens and migrates a store
connection  opens connections
tables      migrates and checks the tables
file        reads and writes a whole store as one file, the format of backups for both engines
place       locks a store, replaces a whole store, and checks whether a store is free
"""
