"""`svc field-check`: test the main workflow on the real platform, and answer open questions about the platform.

    table   the questions, and the answers of the emulated platform
    trace   a record of the resources that a run may have created, and their removal
    run     the steps

A run creates tokens, a database, a worker and routes with a common random name, and always removes them at the end. If
the process is killed, the next run first removes the remaining resources.
"""
