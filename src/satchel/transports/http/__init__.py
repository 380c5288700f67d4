"""Serving over HTTP: an ASGI application under uvicorn. Nothing here is imported by a process that serves stdio.

server       the serving process, or several: uvicorn with our bounds, signals, exit status
timeouts     how long a server waits for its clients
bounds       time limits and bounds of one connection, around uvicorn's protocol
connections  how many connections there may be, and which one gives way to a new one
arrivals     accepts connections, and opens them with their first byte
early_refusals  what a connection is told before there is a request
flow         when a connection reads nothing
turns        whose bytes the event loop handles next
sockets      how much of what was sent a client has taken
budget       how many bytes may be in flight, of a user, an address and the process
routes       the ASGI application: which path is answered by what
guard        the one check in front of every request: Host, Origin, size of the head; refusals as responses
messages     requests and responses as ASGI carries them
calls        runs calls in worker threads, and cancels them when their client leaves
shares       who runs next: the part of the worker threads and the rate of calls of each user
endpoint     MCP: a POST is a call, a GET opens a stream of changes
streams      the stream of changes of one client
tasks_api    the tools of `tasks` as plain HTTP
forms        what a browser sends: fields, files, cookies
pages        the page for people: sessions, origins, forms, live changes
page_listener  one stream of changes to a browser
health       whether the database answers
metrics      counters for Prometheus
"""
