"""Authentication over HTTP: tokens of our own, and access tokens of an OAuth issuer.

allowed_names  host names and origins that are served
callers        the caller of a request, and what they may do
sessions       sessions of browsers, opened by a token or a one-time code
tokens         bearer tokens that the store keeps as hashes
oauth          verifies the signature and claims of access tokens
code_flow      logs browsers in with an issuer
issuer         finds, fetches and caches the keys of an issuer
jwks           parses public keys: JWK sets and PEM
fetch          fetches small documents over https
"""
