"""Every contract as a table: it has words for every error, and its schemas are schemas."""

import jsonschema
import msgspec
import pytest

from satchel import errors
from satchel.contracts import CONTRACTS, load
from satchel.contracts.own.failures import Missed, Unrenderable
from satchel.contracts.schema import json_schema
from satchel.model import Scope

SCOPE = Scope()

SAMPLES: dict[type[errors.SatchelError], list[errors.SatchelError]] = {
    errors.WrongArgument: [
        errors.WrongArgument("title", rule, limit=1, value="x")
        for rule in ("required", "type", "minLength", "maxLength", "maxBytes", "minimum", "maximum", "minItems")
    ],
    errors.NotFound: [errors.NotFound("prompt", "7", SCOPE), errors.NotFound("project", "7", SCOPE)],
    errors.Taken: [errors.Taken("prompt", "title", "x", SCOPE)],
    errors.Unauthorized: [errors.Unauthorized("the token is secret")],
    errors.StoreConflict: [errors.StoreConflict("disk full at /secret/path")],
    errors.Forbidden: [errors.Forbidden("task", "7", SCOPE)],
    errors.VersionConflict: [errors.VersionConflict("task", "7", expected=1, actual=2)],
    errors.StoreUnusable: [errors.StoreUnusable("/secret/path")],
    Missed: [Missed(errors.NotFound("prompt", "7", SCOPE), ("8",))],
    Unrenderable: [Unrenderable("It cannot be filled in.", "Mend it.")],
}


def leaves(kind: type[errors.SatchelError]) -> list[type[errors.SatchelError]]:
    below = kind.__subclasses__()
    return [leaf for child in below for leaf in leaves(child)] if below else [kind]


@pytest.mark.parametrize("name", CONTRACTS)
def test_a_contract_has_words_for_every_error(name: str) -> None:
    contract = load(name)
    assert contract.name == name
    for tool in contract.tools:
        for kind in leaves(errors.SatchelError):
            for error in SAMPLES[kind]:
                body = contract.failure(tool, error)
                assert body and b"secret" not in msgspec.json.encode(body)


UNABLE = "Unable to complete request. Please try again."
FAILED_STORE = {
    "prompt-store": {"error": {"code": "INTERNAL_ERROR", "message": UNABLE}},
    "mcpkg": f"Error: {UNABLE}",
    "todo": {"success": False, "task": None, "message": UNABLE},
    "tasks": {"success": False, "error": UNABLE, "code": "DATABASE_ERROR"},
}


@pytest.mark.parametrize("name", FAILED_STORE)
def test_a_failing_database_is_said_in_the_contracts_words(name: str) -> None:
    contract = load(name)
    assert contract.failure(contract.tools[0], errors.StoreFailed("disk full")) == FAILED_STORE[name]


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_schemas_of_a_contract_are_schemas(name: str) -> None:
    for tool in load(name).tools:
        jsonschema.Draft202012Validator.check_schema(json_schema(tool.input))
