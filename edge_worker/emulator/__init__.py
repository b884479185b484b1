"""An edge platform on one machine: its API, and the real runtime (workerd) running what was uploaded.

state      what it holds: accounts, zones, tokens, scripts, databases      faults    refusals and losses on demand
wire       envelope, errors, pages of the API                              runtime   the workerd processes
rights     permission groups, and what a token may do                      server    all of it behind one port
access     the door: which token asks, and may it                          crons     cron expressions
tokens zones routes databases scripts script_settings uploads deploying analytics graphql     the API, by noun
control customers     the tests' own hand on it                           process   starts it and speaks to it
js/        what runs inside workerd: the edge (front), databases (d1), the module around each script (entry, clock)
"""
