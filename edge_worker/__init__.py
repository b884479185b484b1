"""The worker that runs in customers' accounts, and the edge platform on this machine that it is tried out on."""
