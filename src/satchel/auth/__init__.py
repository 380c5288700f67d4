"""Who is calling over HTTP: tokens of our own, and the access tokens of an OAuth issuer.

tokens  bearer tokens that a store keeps as hashes
oauth   access tokens of an issuer: their signature and claims
issuer  the keys of an issuer: found, fetched and kept fresh
jwks    public keys as issuers publish them
fetch   small documents over https
"""
