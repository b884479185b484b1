"""Code that takes a request from the socket to its handler, and the response back.

server         connections, their limits and deadlines
http1          HTTP/1.1 with hypercorn and h11, and stricter checks of requests
front          the first step of a request: metrics, the access log, and requests that bypass the framework
direct         requests served without the framework
app, routes    the framework's application and its routes
endpoints      a handler for each declared endpoint
gate           the checks before a handler, in order, and the response afterwards
request_parts  reads and checks the parts of a request for the gate, with `bodies` and `accept_language`
requests       the argument that a handler receives
credentials    authentication and rate limits; `origin` and `cookies` for browsers, `visible` for access control
idempotency    stores responses under their Idempotency-Key
responses      converts responses to bytes and to the framework's objects
web            the files of the web application and the documentation
deps           the dependencies that `main` provides
"""
