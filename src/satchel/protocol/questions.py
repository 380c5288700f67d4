"""Questions to the user in the middle of a call, and their answers.

A call does not wait for an answer: it ends with a question as its result, and runs again with the
answer. In the per-request generation, the client resends it; in the handshake generation, `Questions` keeps it.
"""

import hashlib
import json
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.protocol.messages import INTERNAL_ERROR, Id, Json, ProtocolError, invalid_params
from satchel.protocol.revisions import Revision

if TYPE_CHECKING:
    from satchel.protocol.connection import Call, Exchange

ACTIONS = ("accept", "decline", "cancel")
INPUT_REQUIRED = "input_required"
MAX_OPEN = 100  # open questions to one client
ANSWER_TIMEOUT = 600.0  # seconds for the user to answer

# The answer is yes or no, but MCP requires a schema for a form.
_NO_FIELDS: Json = {"type": "object", "properties": {}}


class Question(Struct, frozen=True):
    """A yes-or-no question to the user; its key is unique among the questions to one client."""

    key: str
    message: str

    @property
    def request(self) -> Json:
        """The request to send to the client."""
        return {
            "method": "elicitation/create",
            "params": {"message": self.message, "requestedSchema": _NO_FIELDS},
        }

    @property
    def result(self) -> Json:
        """The result of a call that asks a question, and therefore has to be repeated with the answer."""
        return {"resultType": INPUT_REQUIRED, "inputRequests": {self.key: self.request}}


def can_ask(revision: Revision, capabilities: object) -> bool:
    """Return whether a client with these capabilities can show a server's form to its user."""
    offered = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    # An empty object means forms, which were once the only mode.
    return revision.has_elicitation and isinstance(offered, dict) and (not offered or "form" in offered)


def make_question(params: Json, message: str) -> Question:
    """Return a question about a call; the key depends on the call, so that the answer applies to no other call."""
    asked = json.dumps([params.get("name"), params.get("arguments"), message], sort_keys=True)
    return Question(f"confirm-{hashlib.sha256(asked.encode()).hexdigest()[:16]}", message)


def read_answers(params: Json) -> dict[str, str]:
    """Return the user's answers in a repeated call, by the key of the question.

    Raises:
        ProtocolError: the answers are malformed.
    """
    responses = params.get("inputResponses")
    if responses is None:
        return {}
    if not isinstance(responses, dict):
        raise invalid_params("inputResponses must be an object")
    answers = {}
    for key, response in responses.items():
        if not isinstance(response, dict):
            raise invalid_params(f"inputResponses.{key} must be an object")
        if "action" not in response:
            continue  # no question of this server has such an answer
        if response["action"] not in ACTIONS:
            raise invalid_params(f"inputResponses.{key}.action must be one of {', '.join(ACTIONS)}")
        answers[key] = response["action"]
    return answers


class _OpenQuestion(Struct, frozen=True):
    exchange: "Exchange"
    call: "Call"
    key: str
    deadline: float


class Questions:
    """The calls of a client of the handshake generation that wait for answers from the client's user."""

    def __init__(self) -> None:
        self._open: dict[str, _OpenQuestion] = {}
        self._count = 0

    @property
    def deadline(self) -> float | None:
        """The monotonic time at which the next question expires; None if no question is open."""
        return min((one.deadline for one in self._open.values()), default=None)

    def ask(self, exchange: "Exchange", call: "Call", result: Json) -> Json:
        """Keep a call until its question is answered, and return the request to send.

        Raises:
            ProtocolError: too many questions are open.
        """
        if len(self._open) >= MAX_OPEN:
            raise ProtocolError(INTERNAL_ERROR, "Too many questions to the user are open")
        [(key, request)] = result["inputRequests"].items()
        self._count += 1
        id = f"question-{self._count}"
        self._open[id] = _OpenQuestion(exchange, call, key, monotonic() + ANSWER_TIMEOUT)
        return {"jsonrpc": "2.0", "id": id, **request}

    def take_answer(self, value: object) -> "Exchange | None":
        """Return the exchange that a message resumes by answering its question, or None; errors count as "cancel"."""
        if not self._open or not isinstance(value, dict) or not isinstance(value.get("id"), str):
            return None
        asked = self._open.pop(value["id"], None)
        if asked is None:
            return None
        result = value.get("result")
        action = result.get("action") if isinstance(result, dict) else None
        asked.call.answers = {asked.key: action if action in ACTIONS else "cancel"}
        return asked.exchange

    def withdraw(self, call: "Call") -> list[Json]:
        """Drop the question of a call that its client cancelled; return the messages that withdraw the question."""
        withdrawn = [id for id, asked in self._open.items() if asked.call is call]
        for id in withdrawn:
            del self._open[id]
        return [_cancel(id) for id in withdrawn]

    def give_up(self, now: float | None = None) -> "list[Exchange]":
        """Answer expired questions, or all questions, with "cancel"; return the exchanges to resume."""
        overdue = {id: asked for id, asked in self._open.items() if now is None or asked.deadline <= now}
        for id, asked in overdue.items():
            del self._open[id]
            asked.call.answers = {asked.key: "cancel"}
            asked.exchange.send_first(_cancel(id))
        return [asked.exchange for asked in overdue.values()]


def _cancel(id: Id) -> Json:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
