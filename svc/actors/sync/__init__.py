"""Synchronization: bring the state at Cloudflare in line with the store.

configuration   writes sites, links, the link host and settings to the Worker's database
worker_config   reads and writes that database's table `config`
schema          migrates that database's tables
script          uploads the Worker's script, and compares the script at Cloudflare with the last upload
routes          creates and removes the routes that send visitors' requests to the Worker
recovery        updates a restored store, which is behind its Workers
"""
