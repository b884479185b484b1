"""What runs under Node: the worker's build, a browser on a lead, the CPU time of a cron run; and how Node is called."""
