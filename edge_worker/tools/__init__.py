"""Programs that run under Node: the worker's build, a controlled browser, a CPU benchmark."""
