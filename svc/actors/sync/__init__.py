"""Synchronization: bring the state at Cloudflare in line with the store.

configuration   writes sites, links, link host and settings to the worker's database
worker_config   reads and writes that database's table `config`
schema          migrates that database's tables
script          upload of the worker's script, and the comparison with the last upload
routes          the routes that send visitors' requests to the worker
recovery        brings a restored store, which is behind its workers, up to date
"""
