"""The fuzzers of `make fuzz`. `server` sends malformed HTTP. `contract` sends valid and invalid API requests."""
