"""Keep what is at the platform equal to the store.

configuration   sites, links, link host and settings, written to the worker's database
worker_config   the table `config` of that database
schema          the tables of that database
script          the worker's script: whether it is ours and unchanged
routes          the routes that lead visitors to the worker
recovery        a store that is behind its workers learns what it lost
"""
