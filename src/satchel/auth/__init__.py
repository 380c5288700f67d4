"""Authentication over HTTP: Satchel's own tokens, and access tokens of an OAuth issuer.

callers        the caller of a request and their rights
tokens         bearer tokens that the store keeps as hashes
sessions       sessions of browsers, opened by a token or a one-time code
oauth          the signature and the claims of access tokens
code_flow      the login of a browser with an issuer
issuer         the metadata and the keys of an issuer, fetched and cached
"""
