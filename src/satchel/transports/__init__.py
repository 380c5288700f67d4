"""Ways in: each moves bytes between clients and the protocol, and knows who is calling."""
