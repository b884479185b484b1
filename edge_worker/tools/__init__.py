"""Programs that run under Node: the Worker's build, a controlled browser, a CPU benchmark."""
