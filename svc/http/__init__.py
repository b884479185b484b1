"""The HTTP side of the service.

serving        the server, the framework, and all that every request passes through
resources      one file for each resource of `/v1`, `/auth` and the push
metrics_page   /metrics, on an address of its own
"""
