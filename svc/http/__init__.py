"""The service's HTTP layer.

serving        the server, the web framework, and the processing that all requests have in common
resources      one module per resource of `/v1`, `/auth` and the push
metrics_page   /metrics, on a separate address
"""
