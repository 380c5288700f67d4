"""Transports move bytes between clients and the protocol, and identify the caller.

stdio      one client on stdin and stdout: a thread that reads, a queue, a thread that runs the calls; bounded shutdown
http       many clients over HTTP
sdk        a server of the official SDK, for programs that embed Satchel
"""
