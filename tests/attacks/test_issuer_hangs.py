"""An issuer that does not answer: users whose keys are known notice nothing, and others are told at once."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from satchel.auth import issuer as keys
from satchel.auth.oauth import OAuth
from satchel.errors import AuthUnavailable
from tests.attacks.support import Attacked, Neighbour
from tests.auth.issuer import AUDIENCE, Issuer, jwk, rsa_key
from tests.support.web import HANDSHAKE, call

KEY, OTHER = rsa_key(), rsa_key()


class Hanging:
    """An issuer that can be stopped from answering."""

    def __init__(self) -> None:
        self.issuer = Issuer()
        self.issuer.publish(jwk(KEY, "one"))
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def hang(self) -> None:
        def never(request: BaseHTTPRequestHandler) -> None:
            self.asked.set()
            self.go_on.wait(60)
            request.send_error(500)

        self.issuer.answers["/keys"] = never


@pytest.fixture
def hanging() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.go_on.set()
    hanging.issuer.close()


@pytest.fixture
def oauth(hanging: Hanging) -> OAuth:
    oauth = OAuth(hanging.issuer.url, {AUDIENCE}, keys=f"{hanging.issuer.url}/keys")
    oauth.identify(hanging.issuer.token(KEY, "one"))
    return oauth


def test_only_who_causes_a_fetch_waits_for_it(hanging: Hanging, oauth: OAuth) -> None:
    good, unknown = hanging.issuer.token(KEY, "one"), hanging.issuer.token(OTHER, "two")
    hanging.hang()
    is_over = threading.Event()

    def search() -> None:
        with pytest.raises(AuthUnavailable):
            oauth.identify(unknown)
        is_over.set()

    thread = threading.Thread(target=search)
    thread.start()
    assert hanging.asked.wait(60)
    for _ in range(20):
        oauth.identify(good)
        with pytest.raises(AuthUnavailable, match="has not answered yet"):
            oauth.identify(unknown)
    assert not is_over.is_set()
    hanging.go_on.set()
    thread.join()


def test_keys_are_fetched_again_before_they_are_too_old(
    hanging: Hanging, oauth: OAuth, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = hanging.issuer.token(KEY, "one")
    hanging.hang()
    monkeypatch.setattr(keys, "monotonic", lambda: time.monotonic() + 400)
    oauth.identify(good)  # which starts it, and does not wait
    assert hanging.asked.wait(60) and not hanging.go_on.is_set()
    oauth.identify(good)


def test_users_with_known_keys_are_served_while_forged_tokens_make_the_server_ask(
    hanging: Hanging, tmp_path: object
) -> None:
    url = hanging.issuer.url
    options = ("--oauth-issuer", url, "--oauth-keys", f"{url}/keys", "--oauth-audience", AUDIENCE)
    with Attacked("-c", "prompt-store", "-d", f"{tmp_path}/s.db", "--auth", "oauth", *options) as server:
        good = ("Authorization", f"Bearer {hanging.issuer.token(KEY, 'one')}")
        neighbour = Neighbour(server, good)
        hanging.hang()
        headers, body = call("list_prompts", revision=HANDSHAKE)
        answers: list[int] = []

        def forge(name: str) -> None:
            forged = ("Authorization", f"Bearer {hanging.issuer.token(OTHER, name)}")
            answers.append(server.ask("POST", "/mcp", [forged, *headers], body).status)

        first = threading.Thread(target=forge, args=("made up",))
        with neighbour:
            first.start()
            assert hanging.asked.wait(60)
            for number in range(30):
                forge(f"made up {number}")
            assert neighbour.was_served()
            assert answers == [503] * 30 and first.is_alive()
            hanging.go_on.set()
            first.join()
    assert answers[-1] == 503
