"""`svc field-check`: the main job and the open questions, tried on the platform itself with names of their own.

    table   what is asked, what the emulated platform answers, what was answered
    trace   what a run may have made, on the disk before it is made; and its removal
    run     the steps

A run makes a token, a database, a worker and a route, all of one random name, and removes them, whatever ends it. What
a killed process could not remove, the next start removes first.
"""
