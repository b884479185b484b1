"""The client of Cloudflare's API, with a module per area. No other package sends HTTP requests."""
