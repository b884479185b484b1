"""The client for Cloudflare's API, with one module per area of the API. No other package sends HTTP requests."""
