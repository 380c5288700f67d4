"""Public keys as issuers publish them: JWK sets and PEM, and which of them fit an algorithm."""

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

_SMALLEST_RSA = 2048  # bits; RFC 7518, 3.3
_CURVES = {"ES256": "secp256r1", "ES384": "secp384r1", "ES512": "secp521r1"}

# Algorithms with a public key only: one that is secret, or none at all, would let anybody sign.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", *_CURVES, "EdDSA")


class Key(Struct, frozen=True):
    """One public key, and the name that tokens call it by."""

    name: str | None  # None answers to any name
    public: Any


class _Jwk(Struct):
    # Only what is public: a private key that was published by mistake is never made.
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


def read_keys(document: bytes, algorithm: str) -> tuple[Key, ...]:
    """The keys in a JWK set, or the one in a PEM text, that fit an algorithm; others are passed over.

    Raises:
        ValueError: it is neither.
    """
    if document.lstrip().startswith(b"-----BEGIN"):
        return _only_fitting([Key(None, _from_pem(document))], algorithm)
    try:
        found = msgspec.json.decode(document, type=_Jwks).keys
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError("neither a JWK set nor a public key in PEM") from error
    return _only_fitting([key for raw in found if (key := _from_jwk(raw, algorithm)) is not None], algorithm)


def _from_pem(document: bytes) -> Any:
    try:
        return load_pem_public_key(document)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("not a public key in PEM") from error


def _from_jwk(raw: msgspec.Raw, algorithm: str) -> Key | None:
    try:
        jwk = msgspec.json.decode(raw, type=_Jwk)
        is_meant = jwk.use in (None, "sig") and jwk.alg in (None, algorithm)
        if not is_meant or (jwk.key_ops is not None and "verify" not in jwk.key_ops):
            return None
        fields = {name: value for name, value in msgspec.structs.asdict(jwk).items() if isinstance(value, str)}
        # Refuses another kty than that of the algorithm.
        return Key(jwk.kid, jwt.PyJWS([algorithm]).get_algorithm_by_name(algorithm).from_jwk(fields))
    except (msgspec.DecodeError, jwt.PyJWTError, ValueError, UnsupportedAlgorithm):
        return None


def _only_fitting(keys: list[Key], algorithm: str) -> tuple[Key, ...]:
    return tuple(key for key in keys if _fits(key.public, algorithm))


def _fits(public: object, algorithm: str) -> bool:
    if algorithm in _CURVES:
        return isinstance(public, EllipticCurvePublicKey) and public.curve.name == _CURVES[algorithm]
    if algorithm == "EdDSA":
        return isinstance(public, Ed25519PublicKey | Ed448PublicKey)
    return isinstance(public, RSAPublicKey) and public.key_size >= _SMALLEST_RSA
