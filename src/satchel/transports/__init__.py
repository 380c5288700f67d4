"""Transports move bytes between clients and the protocol, and know who is calling.

stdio     one client on stdin and stdout, in a blocking loop
lines     reads lines from a file descriptor, within a limit
shutdown  ends a stdio process in time
http      many clients over HTTP
"""
