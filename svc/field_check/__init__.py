"""`svc field-check`: test the main workflow and open questions on the real platform.

    table   the questions, and the answers of the emulated platform
    trace   a record of the resources that a run may have created, and their removal
    run     the steps

A run creates tokens, a database, a worker and routes with a common random name, and removes them in any case. If the
process is killed, the next run removes the remaining resources first.
"""
