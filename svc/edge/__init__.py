"""The client of Cloudflare's API, with a module per area; the only package that sends HTTP requests."""
