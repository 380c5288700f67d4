"""Serving over HTTP: an ASGI application under uvicorn. Nothing here is imported by a process that serves stdio.

server     the serving process, or several: uvicorn with our bounds, signals, exit status
timeouts   how long a server waits for its clients
bounds     time limits and bounds of one connection, around uvicorn's protocol
routes     the ASGI application: which path is answered by what
guard      the one check in front of every request: Host, Origin, size of the head; refusals as responses
messages   requests and responses as ASGI carries them
endpoint   MCP: a POST is a call, a GET opens a stream of changes
tasks_api  the tools of `tasks` as plain HTTP
health     whether the database answers
metrics    counters for Prometheus
"""
