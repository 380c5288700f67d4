"""Serving over HTTP. Nothing here is imported by a process that serves stdio.

server     the listening process: sockets, workers, signals, draining
wire       HTTP connections with deadlines and bounds
guard      what is refused before anything looks at it: Host, Origin, type, size
auth       who is calling, and what they may do
app        the routes
endpoint   MCP: a POST is a call, a GET a stream of changes
door       the tools of `tasks` as plain HTTP
listeners  who is to be told of which changes
metrics    what was called, how it ended, how long it took
"""
