"""Synchronization: make the state at Cloudflare equal to the store.

configuration   sites, links, link host and settings, written to the worker's database
worker_config   the table `config` of that database
schema          the tables of that database
script          upload of the worker's script, and the comparison with the last upload
routes          the routes that send visitors' requests to the worker
recovery        restore what the store has lost if it is behind its workers
"""
