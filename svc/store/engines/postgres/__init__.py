"""The PostgreSQL engine.

store        runs transactions
statements   runs the statements of a transaction on a connection
opening      opens and migrates a store; `locks` contains its advisory locks
session      opens connections; `pool` keeps them
loop_thread  runs the driver's asyncio loop in a separate thread
poll         checks whether a store is free
copy, place  copy and replace a whole store
"""
