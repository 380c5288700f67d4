"""Serving over HTTP: an ASGI application under uvicorn. Nothing here is imported by a process that serves stdio.

server     the serving process, or several: signals, log, exit status
bounds     uvicorn's connection with limits on time, heads and waiting connections
limits     sizes and times of requests; threads, calls and bytes in flight for each user
app        the guard in front of every request, and the routes
messages   requests and responses: the caller, refusals, JSON, streams of events
endpoint   MCP: a POST is a call, a GET opens a stream of changes
streams    open streams of changes, for clients and pages
tasks_api  the tools of `tasks` as plain HTTP
pages      the page for people: sessions, origins, forms
health     checks that the database answers
metrics    counters for Prometheus
"""
