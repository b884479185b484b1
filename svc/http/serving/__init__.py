"""The way of a request from the socket to its handler and back.

server        connections, limits and deadlines; HTTP/1.1 by hypercorn's protocol
front         the first step of a request: measurement, and what is answered without the framework
direct        requests that are served without the framework
app, routes   the framework's application and its paths
endpoints     a handler for each declared endpoint
gate          the checks before a handler, in order, and the answer after it
request_parts the parts of a request, read and checked for the gate; `bodies` parses what the client sends
requests      the argument that a handler gets
credentials   who asks; `origin` and `cookies` for browsers, `visible` for what a caller may see
idempotency   an answer kept under its Idempotency-Key
answers       the answer as bytes and as the framework's response
web           the files of the web application
deps          the parts that main hands in
"""
