"""Questions to the user in the middle of a call: how they are asked, and how answers come back.

A call that needs an answer is not kept running: it is given up, its result is a question, and it is run again with the
answer. In the per-request generation the client sends the call again; in the handshake generation the server keeps it.
"""

from msgspec import Struct

from satchel.protocol.messages import Json, invalid_params
from satchel.protocol.revisions import Revision

ACTIONS = ("accept", "decline", "cancel")
INPUT_REQUIRED = "input_required"

# The user is only asked whether; MCP wants a form all the same.
_NO_FIELDS: Json = {"type": "object", "properties": {}}


class Question(Struct, frozen=True):
    """A sentence to which the user says yes or no; the key tells it apart from other questions of the same client."""

    key: str
    message: str

    @property
    def request(self) -> Json:
        """What the client is asked to do."""
        return {
            "method": "elicitation/create",
            "params": {"message": self.message, "requestedSchema": _NO_FIELDS},
        }

    @property
    def result(self) -> Json:
        """The result of a call that waits for the answer."""
        return {"resultType": INPUT_REQUIRED, "inputRequests": {self.key: self.request}}


def can_ask(revision: Revision, capabilities: object) -> bool:
    """Whether a client with these capabilities asks its user on behalf of a server, by a form."""
    offered = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    # An empty object means forms, as it did before there was another mode.
    return revision.has_elicitation and isinstance(offered, dict) and (not offered or "form" in offered)


def make_question(params: Json, message: str) -> Question:
    """A question about a call with these parameters; an answer to a question about another call has another key."""
    import hashlib  # both are 2 ms of a start, and few calls ask
    import json

    asked = json.dumps([params.get("name"), params.get("arguments"), message], sort_keys=True)
    return Question(f"confirm-{hashlib.sha256(asked.encode()).hexdigest()[:16]}", message)


def read_answers(params: Json) -> dict[str, str]:
    """What the user answered, by the key of the question, in a call that is sent again.

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
            continue  # an answer to something that this server never asks
        if response["action"] not in ACTIONS:
            raise invalid_params(f"inputResponses.{key}.action must be one of {', '.join(ACTIONS)}")
        answers[key] = response["action"]
    return answers
