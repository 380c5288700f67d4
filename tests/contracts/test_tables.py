"""The table of every contract: it words every error, and its schemas are valid."""

import jsonschema
import msgspec

from satchel import errors
from satchel.contracts import CONTRACTS, load
from satchel.contracts.contract import Reply
from satchel.contracts.satchel import errors as satchel_errors
from satchel.contracts.satchel.errors import (
    MissingValue,
    TemplateFailed,
    WrongValue,
)
from satchel.model import Claim, Scope
from satchel.storage.database import Violation
from tests.support.satchel import CODES, HINT

SCOPE = Scope()
CLAIM = Claim(holder="ann 3f2a", holder_key="ann x", until="2026-11-17T14:30:00.000000Z", fence=2)

SAMPLES: dict[type[errors.SatchelError], list[errors.SatchelError]] = {
    errors.WrongArgument: [
        errors.WrongArgument("title", rule, limit=1, value="x")
        for rule in ("required", "type", "minLength", "maxLength", "maxBytes", "minimum", "maximum", "minItems")
    ],
    errors.NotFound: [errors.NotFound("prompt", "7", SCOPE), errors.NotFound("project", "7", SCOPE)],
    errors.Taken: [errors.Taken("prompt", "title", "x", SCOPE)],
    errors.StoreConflict: [errors.StoreConflict("disk full at /secret/path")],
    errors.OutcomeUnknown: [errors.OutcomeUnknown("/secret/path")],
    errors.StoreGone: [errors.StoreGone("/secret/path")],
    Violation: [Violation("prompts_secret")],
    errors.AnswerTooLarge: [errors.AnswerTooLarge("list_tasks", 7, one) for one in ("status", None)],
    errors.QuotaExceeded: [errors.QuotaExceeded("items", 7), errors.QuotaExceeded("bytes", 7)],
    errors.TooCostly: [errors.TooCostly("x")],
    errors.Forbidden: [errors.Forbidden("task", "7", SCOPE)],
    errors.VersionConflict: [errors.VersionConflict("task", "7", expected=1, actual=2)],
    errors.VersionMissing: [
        errors.VersionMissing("prompt", "7", 9, (3, 2)),
        errors.VersionMissing("task", "#7", 9, ()),
    ],
    errors.UnknownAuthor: [
        errors.UnknownAuthor("x", ("codex 1", "user 1a2b3c4d, page")),
        errors.UnknownAuthor("x", ()),
    ],
    errors.LabelMissing: [errors.LabelMissing("p", "live", ("production",)), errors.LabelMissing("p", "live", ())],
    errors.TaskHeld: [errors.TaskHeld(7, CLAIM)],
    errors.TaskClosed: [errors.TaskClosed(7, "completed")],
    errors.StaleFence: [errors.StaleFence(7, 1, CLAIM), errors.StaleFence(7, 1, None)],
    errors.NothingReady: [
        errors.NothingReady("default", blocked=1, held=2),
        errors.NothingReady(None, blocked=0, held=0),
    ],
    errors.WrongEdit: [
        *(errors.WrongEdit(reason, index=1) for reason in ("empty", "absent", "same")),
        errors.WrongEdit("repeated", index=0, count=12, lines=(1, 2)),
        errors.WrongEdit("absent", index=0, near=(3, "a line")),
    ],
    errors.MissingPart: [errors.MissingPart("Set up", ("Setup",)), errors.MissingPart("Set up", ())],
    WrongValue: [WrongValue("It has no argument 'x'.", "It takes none.", "x")],
    MissingValue: [MissingValue("It needs a value for x.", "Give each value by its name in arguments.", "x")],
    errors.EntryRefused: [
        errors.EntryRefused("lines[3]", cause)
        for cause in (
            errors.WrongArgument("due", "format", value="x"),
            errors.NotFound("task", "7", SCOPE),
            errors.TaskHeld(7, CLAIM),
        )
    ],
    errors.KeyReused: [errors.KeyReused("k")],
    errors.AmbiguousItem: [
        errors.AmbiguousItem("tea", ("satchel://prompt/tea", "satchel://resource/tea")),
        errors.AmbiguousItem("tea", ("#1", "#2"), kind="task", has_more=True),
    ],
    errors.NotConfirmed: [errors.NotConfirmed("decline"), errors.NotConfirmed("cancel")],
    errors.StoreUnusable: [errors.StoreUnusable("/secret/path")],
    errors.StoreMissing: [errors.StoreMissing("there is no store /secret/path", "/secret/path")],
    TemplateFailed: [TemplateFailed("It cannot be filled in.", "Correct it.", is_of_library=False)],
}


def leaves(kind: type[errors.SatchelError]) -> list[type[errors.SatchelError]]:
    below = kind.__subclasses__()
    return [leaf for child in below for leaf in leaves(child)] if below else [kind]


def test_a_contract_has_words_for_every_error() -> None:
    for name in CONTRACTS:
        contract = load(name)
        assert contract.name == name
        for tool in contract.tools:
            for kind in leaves(errors.SatchelError):
                for error in SAMPLES[kind]:
                    body = contract.explain_failure(tool, error)
                    assert body and b"secret" not in msgspec.json.encode(body)


def test_the_contract_satchel_has_a_hint_for_every_error() -> None:
    contract = load("satchel")
    rules = {(field or "x", rule) for field, rule in satchel_errors._ARGUMENT_HINTS} | {("x", "an unknown rule")}
    samples: list[Exception] = [
        *(error for many in SAMPLES.values() for error in many),
        *(errors.NotFound(kind, "7", SCOPE) for kind in ("prompt", "document", "task", "project")),
        *(errors.Forbidden(kind, "7", SCOPE) for kind in ("task", "project")),
        *(errors.WrongArgument(field, rule, limit=1, value="x") for field, rule in rules),
        *(
            errors.WrongArgument(field, "type", limit=limit, value=value)
            for field in ("x", "task", "blocked_by", "arguments")
            for limit in ("string", "text", "integer", "boolean", "array", "object", "object with name")
            for value in (None, "x", {})
        ),
        errors.WrongArgument("prompt", "readOnly", value="x"),
        errors.WrongArgument("prompt", "readOnly", value="x", limit="y"),
        errors.WrongArgument("x", "anyOf", limit=("x", "y")),
        errors.WrongArgument("x", "enum", limit=["x", "y"]),
        errors.WrongArgument("content", "dependentRequired", limit=("text", "binary")),
        errors.WrongArgument("content", "maxBytes", limit=64 * 1024),
    ]
    samples.append(ZeroDivisionError())
    replies = [contract.explain_failure(contract.tools[0], sample) for sample in samples]
    seen = set()
    for reply in replies:
        assert isinstance(reply, Reply) and isinstance(reply.structured, dict)
        error = reply.structured["error"]
        assert error["hint"] == HINT and error["message"].endswith("."), error
        assert "{" not in error["message"] and error["hint"].count("{") == error["hint"].count("}")
        seen.add(error["code"])
    assert seen == {*CODES, "internal"}


UNABLE = "Unable to complete request. Please try again."
FAILED_STORE = {
    "prompt-store": {"error": {"code": "INTERNAL_ERROR", "message": UNABLE}},
    "mcpkg": f"Error: {UNABLE}",
    "todo": {"success": False, "task": None, "message": UNABLE},
    "tasks": {"success": False, "error": UNABLE, "code": "DATABASE_ERROR"},
}


def test_a_failing_database_is_reported_in_the_words_of_the_contract() -> None:
    for name in FAILED_STORE:
        contract = load(name)
        assert contract.explain_failure(contract.tools[0], errors.StoreFailed("disk full")) == FAILED_STORE[name]


def test_satchel_does_not_say_that_nothing_was_changed_where_nobody_knows() -> None:
    contract = load("satchel")
    said = contract.explain_failure(contract.tools[0], errors.OutcomeUnknown("connection lost"))
    assert isinstance(said, Reply) and isinstance(said.structured, dict)
    assert said.structured["error"] == {
        "code": "unavailable",
        "message": "The connection to the store was lost, so it is unknown whether the call took effect.",
        "hint": "Check whether the call took effect before you repeat it. If this persists, the server's log says why.",
    }


def test_failures_of_ours_satisfy_the_published_schema() -> None:
    for name in CONTRACTS:
        contract = load(name)
        for tool in contract.tools:
            validator = jsonschema.Draft7Validator(contract.publish_schema(tool)["properties"]["output"])
            for kind in (
                errors.StoreConflict,
                errors.StoreGone,
                errors.AnswerTooLarge,
                errors.QuotaExceeded,
                errors.TooCostly,
            ):
                for error in (*SAMPLES[kind], errors.StoreFailed("disk full"), ZeroDivisionError()):
                    body = contract.explain_failure(tool, error)
                    said = body.structured if isinstance(body, Reply) else body
                    validator.validate(msgspec.to_builtins(said))
