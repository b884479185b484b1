"""What the service knows of the worker `svc-edge`: its bundle, and the rows of its database as docs/worker-database.md
describes them. Pure, but for the reading of the bundle."""
