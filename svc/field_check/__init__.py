"""`svc field-check`: test the main workflow on Cloudflare's real platform, and answer open questions about Cloudflare.

    table   the questions, and the answers that the emulator gives
    trace   records the resources that a run may have created, and removes them
    run     the steps

A run creates tokens, a database, a Worker and routes, whose names all contain the same random text. It always removes
them at the end. If the process is killed, the next run first removes the resources that remain.
"""
