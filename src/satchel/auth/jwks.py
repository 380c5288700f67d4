"""Parses public keys, from JWK sets and PEM, and selects those that fit an algorithm."""

from typing import Any

import jwt
import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from msgspec import Struct

_MIN_RSA_BITS = 2048  # RFC 7518, 3.3
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}

# Asymmetric algorithms only. With HS256 the public key would be the secret, and `none` has no signature at all.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", *_CURVES, "EdDSA")


class Key(Struct, frozen=True):
    """One public key and its key id."""

    id: str | None  # None matches any key id
    public: Any


class _Jwk(Struct):
    # Only the public members: a private key that was published by mistake is never parsed.
    kty: str
    kid: str | None = None
    use: str | None = None
    alg: str | None = None
    key_ops: list[str] | None = None
    crv: str | None = None
    n: str | None = None
    e: str | None = None
    x: str | None = None
    y: str | None = None


class _Jwks(Struct):
    keys: list[msgspec.Raw]


def parse_keys(document: bytes, algorithm: str) -> tuple[Key, ...]:
    """Parse a JWK set or a PEM text, and keep the keys that fit an algorithm.

    Raises:
        ValueError: the document is neither.
    """
    if document.lstrip().startswith(b"-----BEGIN"):
        keys: list[Key | None] = [Key(None, _parse_pem(document))]
    else:
        try:
            keys = [_parse_jwk(raw, algorithm) for raw in msgspec.json.decode(document, type=_Jwks).keys]
        except (msgspec.DecodeError, RecursionError) as error:
            raise ValueError("neither a JWK set nor a public key in PEM") from error
    return tuple(key for key in keys if key is not None and _fits(key.public, algorithm))


def _parse_pem(document: bytes) -> Any:
    try:
        return load_pem_public_key(document)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("not a public key in PEM") from error


def _parse_jwk(raw: msgspec.Raw, algorithm: str) -> Key | None:
    try:
        jwk = msgspec.json.decode(raw, type=_Jwk)
        is_for_signatures = jwk.use in (None, "sig") and (jwk.key_ops is None or "verify" in jwk.key_ops)
        if not is_for_signatures or jwk.alg not in (None, algorithm):
            return None
        fields = {name: value for name, value in msgspec.structs.asdict(jwk).items() if isinstance(value, str)}
        # from_jwk raises for a kty that is not that of the algorithm.
        return Key(jwk.kid, jwt.PyJWS([algorithm]).get_algorithm_by_name(algorithm).from_jwk(fields))
    except (msgspec.DecodeError, jwt.PyJWTError, ValueError, UnsupportedAlgorithm):
        return None


def _fits(public: object, algorithm: str) -> bool:
    if algorithm in _CURVES:
        return isinstance(public, EllipticCurvePublicKey) and public.curve.name == _CURVES[algorithm]
    if algorithm == "EdDSA":
        return isinstance(public, Ed25519PublicKey | Ed448PublicKey)
    return isinstance(public, RSAPublicKey) and public.key_size >= _MIN_RSA_BITS
