"""`svc field-check`: test the main workflow on the real Cloudflare platform, and answer open questions about it.

    table   the questions, and the answers of the emulated platform
    trace   records the resources that a run may have created, and removes them
    run     the steps

A run creates tokens, a database, a Worker and routes with a common random name, and always removes them at the end. If
the process is killed, the next run first removes the remaining resources.
"""
