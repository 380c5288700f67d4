"""Transports move bytes between clients and the protocol, and know who is calling.

stdio      one client on stdin and stdout, in a blocking loop
stand_in   reads on and answers what it can while a call over stdio takes long
shutdown   ends a stdio process in time
http       many clients over HTTP
sdk        a server of the official SDK, for programs that embed Satchel
listeners  open streams of changes, and the changes that wait for each
"""
