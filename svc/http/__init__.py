"""The service's HTTP layer.

serving        the server, the framework, and the steps that every request passes through
resources      one module per resource of `/v1`, `/auth` and the push
metrics_page   /metrics, on a separate address
"""
