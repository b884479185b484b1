"""`svc field-check`: test the main workflow on Cloudflare's real platform, and answer open questions about Cloudflare.

    table   the questions, and the answers that the emulator gives
    trace   records the resources that a run may have created, and removes them
    run     the steps

A run creates tokens, a database, a Worker, and routes to this Worker. The names of the tokens, the database and the
Worker contain the same random text. The run removes these resources at the end, even if a step fails. If some remain,
the next run first removes them.
"""
