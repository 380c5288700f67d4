"""Bounds of fields and of pages of lists, compared with docs/reference/limits.md."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import model
from satchel.contracts import CONTRACTS, content, load
from satchel.contracts.schema import fields_of
from satchel.errors import WrongArgument
from satchel.model import Argument, DocumentDraft, PromptDraft, Scope, TaskDraft
from satchel.protocol import MAX_MESSAGE_BYTES, messages
from satchel.services import documents, projects, prompts, retry_keys, rules, tasks, templates
from satchel.storage import links
from satchel.storage.database import Database, open_database
from satchel.transports import stdio
from tests.support.satchel import answered, pages
from tests.support.stdio import NEWEST, Server

ANN = Scope(user="11111111-1111-4111-8111-111111111111")
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "limits.md"
MANY = 60  # items of each kind, each of 20 KiB and more
LONG = "é" * model.MAX_DESCRIPTION  # two bytes each

# What the page says of each bound, and the constant that holds it.
BOUNDS = {
    "name": rules.MAX_NAME,
    "title of a prompt": rules.MAX_TITLE,
    "title of a task": rules.MAX_TASK_TITLE,
    "description": model.MAX_DESCRIPTION,
    "note": model.MAX_DESCRIPTION,
    "content": model.MAX_CONTENT_BYTES,
    "content of a template": rules.MAX_TEMPLATE_BYTES,
    "included texts": templates.MOST_INCLUDED,
    "labels": prompts.MOST_LABELS,
    "URI": rules.MAX_URI_BYTES,
    "MIME type": rules.MAX_NAME,
    "tags": rules.MAX_TAGS,
    "blockers": rules.MAX_BLOCKERS,
    "arguments": rules.MAX_ARGUMENTS,
    "name of an argument": rules.MAX_NAME,
    "description of an argument": model.MAX_DESCRIPTION,
    "values of an argument": rules.MAX_VALUES,
    "value of an argument": rules.MAX_VALUE,
    "all texts of the arguments": rules.MAX_ARGUMENTS_TEXT,
    "notes": tasks.MAX_NOTES,
    "links": links.MOST,
    "query": rules.MAX_QUERY,
    "key": retry_keys.MAX_KEY,
    "name of a client": messages._MAX_CLIENT,
    "page": content.MAX_PAGE_BYTES,
    "answer": content.MAX_ANSWER_BYTES,
    "message": MAX_MESSAGE_BYTES,
    "waiting messages": stdio._MAX_QUEUED,
}


def test_the_page_of_limits_agrees_with_the_code() -> None:
    fields = PAGE.read_text().partition("## Over HTTP")[0]
    said = dict(re.findall(r"^\| ([^|]+?) \| ([0-9,]+) ", fields, re.M))
    assert {name: int(bound.replace(",", "")) for name, bound in said.items()} == BOUNDS


def test_the_texts_of_all_arguments_are_bounded_together(database: Database) -> None:
    """The other bounds are in tests/services/test_rules.py."""
    projects.require(database, ANN)
    many = [Argument(f"a{number}", "x" * 1000, False) for number in range(100)]
    with database.write() as tx:
        prompts.add(tx, ANN, PromptDraft(title="T", content="x", arguments=many[:98]))
    with pytest.raises(WrongArgument) as wrong, database.write() as tx:
        prompts.add(tx, ANN, PromptDraft(title="U", content="x", arguments=many))
    assert wrong.value.rule == "maxLength"


# Texts whose length no bound of their own limits, because the service does, or because they are only compared.
_BOUNDED_BY_SERVICES = {
    "mcpkg": {"name", "content", "description", "uri", "mime_type"},
    "prompt-store": {"id"},
    "todo": {"user_id", "task_id"},
    "satchel": {"content", "status", "match", "priority"},
}


@pytest.mark.parametrize("contract", CONTRACTS)
def test_every_text_that_a_tool_takes_is_bounded_somewhere(contract: str) -> None:
    """A new argument without a bound fails here, until it gets one or is named above."""
    for tool in load(contract).tools:
        for field in fields_of(tool.input):
            if field.schema.get("type") not in ("string", ["string", "null"]) or "enum" in field.schema:
                continue
            is_bounded = {"maxLength", "maxBytes", "enum"} & field.bounds.keys()
            assert is_bounded or field.name in _BOUNDED_BY_SERVICES.get(contract, set()), (tool.name, field.name)


@pytest.fixture
def filled(store: str) -> str:
    """A store in which one writer has given everything the longest description."""
    database = open_database(store)
    projects.require(database, ANN)
    arguments = [Argument(f"a{'x' * 200}{number}", None, False) for number in range(100)]
    with database.write() as tx:
        for number in range(MANY):
            draft = PromptDraft(title=f"P{number}", content="x", description=LONG, arguments=arguments)
            prompts.add(tx, ANN, draft)
            documents.add(tx, ANN, DocumentDraft(name=f"r{number}", uri=f"a:{number}", content="x", description=LONG))
            tags = [f"{'t' * 40}{number}-{one}" for one in range(100)]
            tasks.add(tx, ANN, TaskDraft(title="é" * 500, tags=tags, project="default"))
    database.close()
    return store


def test_every_page_of_our_own_contract_ends_at_a_mebibyte(filled: str, serve: Callable[..., Server]) -> None:
    client = serve("satchel", filled, NEWEST, "--user", str(ANN.user))
    for method, kind in (("prompts/list", "prompts"), ("resources/list", "resources")):
        names: list[str] = []
        cursor: dict[str, str] = {}
        sizes = []
        while True:
            result = answered(client, method, cursor)["result"]
            names += [one["name"] for one in result[kind]]
            sizes.append(len(json.dumps(result, ensure_ascii=False).encode()))
            if "nextCursor" not in result:
                break
            cursor = {"cursor": result["nextCursor"]}
        wanted = MANY + 1 if kind == "prompts" else MANY  # start-task is one of them
        assert len(names) == len({*names}) == wanted and len(sizes) > 1
        assert max(sizes) < 2 * content.MAX_PAGE_BYTES
    listed = pages(client, "list_prompts", "prompts", limit=200)
    assert len({one["name"] for page in listed for one in page}) == MANY and len(listed) > 1
    listed = pages(client, "list_resources", "resources", limit=200)
    assert len({one["name"] for page in listed for one in page}) == MANY
    listed = pages(client, "list_tasks", "tasks", limit=200, status="all")
    assert len({one["number"] for page in listed for one in page}) == MANY
    for page in listed:
        assert len(json.dumps(page, ensure_ascii=False).encode()) < 2 * content.MAX_PAGE_BYTES
