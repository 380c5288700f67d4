"""Every service refuses what the rules of the store forbid, and stores nothing of it."""

from collections.abc import Callable
from typing import Any

import pytest

from satchel.errors import NotFound, WrongArgument
from satchel.model import (
    MAX_CONTENT_BYTES,
    Argument,
    DocumentDraft,
    DocumentPatch,
    Holder,
    ListChange,
    PromptDraft,
    PromptPatch,
    PromptQuery,
    Scope,
    TaskDraft,
    TaskPatch,
    TaskQuery,
)
from satchel.services import (
    completion,
    documents,
    layers,
    lookup,
    projects,
    prompts,
    retry_keys,
    rules,
    tasks,
    templates,
)
from satchel.storage.database import Database, Tx

ADA = Scope(user="00000000-0000-4000-8000-00000000000a")
NUL, SURROGATE = "a\0b", "a\ud800b"
TABLES = ("projects", "prompts", "prompt_tags", "prompt_texts", "documents", "tasks", "task_tags", "task_texts")

Act = Callable[[Tx, str, int], Any]  # takes the id of an existing prompt and the number of an existing task


@pytest.fixture
def filled(database: Database) -> tuple[Database, str, int]:
    """Return a store with the prompt `kept`, the resource `kept` and a task; also their id and number."""
    projects.require(database, ADA)
    with database.write() as tx:
        prompt = prompts.add(tx, ADA, PromptDraft(title="Kept", content="content", tags=["kept"]))
        documents.add(tx, ADA, DocumentDraft(name="kept", uri="x:kept", content="content"))
        task = tasks.add(tx, ADA, TaskDraft(title="Kept", tags=["kept"]))
    return database, prompt.id, task.number


def everything(database: Database) -> list[list[Any]]:
    with database.read(ADA) as tx:
        return [tx.all(f"select * from {table} order by 1, 2") for table in TABLES]


# Values that no prompt, resource or task may have, when added or updated: values, field, rule.
PROMPTS: list[tuple[dict[str, Any], str, str]] = [
    ({"title": ""}, "title", "minLength"),
    ({"title": " \n"}, "title", "minLength"),
    ({"title": "x" * 201}, "title", "maxLength"),
    ({"title": NUL}, "title", "type"),
    ({"title": SURROGATE}, "title", "type"),
    ({"content": ""}, "content", "minLength"),
    ({"content": " \t\n"}, "content", "minLength"),
    ({"content": "é" * (MAX_CONTENT_BYTES // 2 + 1)}, "content", "maxBytes"),
    ({"content": NUL}, "content", "type"),
    ({"content": SURROGATE}, "content", "type"),
    ({"description": "x" * 10_001}, "description", "maxLength"),
    ({"description": NUL}, "description", "type"),
    ({"description": SURROGATE}, "description", "type"),
    ({"tags": ["a b"]}, "tag", "pattern"),
    ({"tags": [""]}, "tag", "pattern"),
    ({"tags": ["x" * 51]}, "tag", "pattern"),
    ({"tags": ["a\n"]}, "tag", "pattern"),
    ({"tags": [NUL]}, "tag", "pattern"),
    ({"tags": ["a"] * 101}, "tags", "maxItems"),
    ({"arguments": [Argument("the-topic", None, False)]}, "arguments", "pattern"),
    ({"arguments": [Argument("1a", None, False)]}, "arguments", "pattern"),
    ({"arguments": [Argument("", None, False)]}, "arguments", "pattern"),
    ({"arguments": [Argument("not", None, False)]}, "arguments", "pattern"),
    ({"arguments": [Argument("a" * 256, None, False)]}, "arguments", "maxLength"),
    ({"arguments": [Argument("a", None, False)] * 2}, "arguments", "uniqueItems"),
    ({"arguments": [Argument(f"a{n}", None, False) for n in range(101)]}, "arguments", "maxItems"),
    ({"arguments": [Argument("a", NUL, False)]}, "arguments", "type"),
    ({"arguments": [Argument("a", "x" * 10_001, False)]}, "arguments", "maxLength"),
    ({"arguments": [Argument("a", None, False, ("x" * 201,))]}, "arguments", "maxLength"),
    ({"arguments": [Argument("a", None, False, ("x",) * 101)]}, "arguments", "maxItems"),
    ({"arguments": [Argument("a", None, False, (SURROGATE,))]}, "arguments", "type"),
    ({"arguments": [Argument("a", None, False)], "content": "x" * (64 * 1024 + 1)}, "content", "maxBytes"),
]
NAMES: list[tuple[dict[str, Any], str, str]] = [
    ({"name": ""}, "name", "minLength"),
    ({"name": "x" * 256}, "name", "maxLength"),
    ({"name": "a b"}, "name", "pattern"),
    ({"name": "é"}, "name", "pattern"),
    ({"name": "a\n"}, "name", "pattern"),
    ({"name": NUL}, "name", "pattern"),
    ({"name": SURROGATE}, "name", "pattern"),
]
URIS: list[tuple[dict[str, Any], str, str]] = [
    ({"uri": ""}, "uri", "format"),
    ({"uri": "docs/api.md"}, "uri", "format"),
    *(({"uri": uri}, "uri", "format") for uri in ("x:a b", "/abs", "1x:y", "x:a\n", "x:\x7f")),
    ({"uri": "x:" + "é" * 1000}, "uri", "format"),
    ({"uri": "x:\0"}, "uri", "type"),
    ({"uri": "x:\ud800"}, "uri", "type"),
]
RESOURCES: list[tuple[dict[str, Any], str, str]] = [
    ({"mime_type": ""}, "mime_type", "format"),
    *(({"mime_type": mime_type}, "mime_type", "format") for mime_type in ("png", "a/b\n", "a/b/c")),
    ({"mime_type": "text/" + "x" * 255}, "mime_type", "format"),
    ({"mime_type": "text/\0"}, "mime_type", "format"),
    ({"content": "x" * (MAX_CONTENT_BYTES + 1)}, "content", "maxBytes"),
    ({"content": b"x" * (MAX_CONTENT_BYTES + 1), "mime_type": "image/png"}, "content", "maxBytes"),
    ({"content": NUL}, "content", "type"),
    ({"content": b"\0"}, "content", "type"),
    ({"content": SURROGATE}, "content", "type"),
    ({"content": b"\xff"}, "content", "contentEncoding"),
    ({"content": "no base64!", "mime_type": "image/png"}, "content", "contentEncoding"),
    ({"content": "YQ", "mime_type": "image/png"}, "content", "contentEncoding"),
    ({"description": "x" * 10_001}, "description", "maxLength"),
    ({"description": NUL}, "description", "type"),
]
TASKS: list[tuple[dict[str, Any], str, str]] = [
    ({"title": ""}, "title", "minLength"),
    ({"title": " \n"}, "title", "minLength"),
    ({"title": "x" * 501}, "title", "maxLength"),
    ({"title": NUL}, "title", "type"),
    ({"description": "x" * 10_001}, "description", "maxLength"),
    ({"description": SURROGATE}, "description", "type"),
    *(
        ({"tags": [tag]}, "tag", "pattern")
        for tag in ("é!", "\u0301e", "ß\u200b", "日本 語", "“x”", "é" * 51, SURROGATE)
    ),
    ({"tags": ["a"] * 101}, "tags", "maxItems"),
    ({"priority": "soon"}, "priority", "enum"),
    ({"priority": ""}, "priority", "enum"),
    ({"due": ""}, "due", "format"),
    ({"due": "2026-02-30"}, "due", "format"),
    ({"due": "20260228"}, "due", "format"),
    ({"due": "2026-W01-1"}, "due", "format"),
    ({"due": "٢٠٢٦-02-28"}, "due", "format"),
    ({"due": NUL}, "due", "format"),
    ({"blocked_by": range(1, 102)}, "blocked_by", "maxItems"),
]
NOTES = [("", "minLength"), (" \n", "minLength"), ("a\0", "type"), ("x" * 10_001, "maxLength")]
KEYS = [(" ", "minLength"), ("x" * 201, "maxLength"), (NUL, "type")]


def add_prompt(**given: Any) -> Act:
    return lambda tx, _id, _number: prompts.add(tx, ADA, PromptDraft(**{"title": "New", "content": "x", **given}))


def update_prompt(**given: Any) -> Act:
    return lambda tx, id, _number: prompts.update(tx, ADA, id, PromptPatch(**given))


def add_resource(**given: Any) -> Act:
    draft = {"name": "new", "uri": "x:new", "content": "x", **given}
    return lambda tx, _id, _number: documents.add(tx, ADA, DocumentDraft(**draft))


def update_resource(**given: Any) -> Act:
    return lambda tx, _id, _number: documents.update(tx, ADA, "kept", DocumentPatch(**given))


def add_task(**given: Any) -> Act:
    return lambda tx, _id, _number: tasks.add(tx, ADA, TaskDraft(**{"title": "New", **given}))


def update_task(**given: Any) -> Act:
    return lambda tx, _id, number: tasks.update(tx, ADA, number, TaskPatch(**given))


def add_note(text: str) -> Act:
    return lambda tx, _id, number: tasks.add_note(tx, ADA, number, text)


def claim(minutes: int) -> list[Act]:
    holder = Holder("ann 0001", "ann", True)
    return [
        lambda tx, _id, number: tasks.claim(tx, ADA, number, holder, minutes),
        lambda tx, _id, _number: tasks.claim_next(tx, ADA, None, holder, minutes),
    ]


def recall(key: str) -> Act:
    return lambda tx, _id, _number: retry_keys.recall(tx, ADA, "add_tasks", key, "digest")


def search(**given: Any) -> list[Act]:
    text, tags = given.get("text", ""), given.get("tags", ())
    acts: list[Act] = [
        lambda tx, _id, _number: prompts.list_page(tx, ADA, PromptQuery(text=text, tags=tags), limit=1),
        lambda tx, _id, _number: tasks.list_page(tx, ADA, TaskQuery(text=text, tags=tags), limit=1),
    ]
    if tags:
        return [
            *acts,
            lambda tx, _id, _number: prompts.list_counted(tx, ADA, PromptQuery(tags=tags), limit=1, offset=0),
        ]
    return [
        *acts,
        lambda tx, _id, _number: prompts.list_counted(tx, ADA, PromptQuery(text=text), limit=1, offset=0),
        lambda tx, _id, _number: documents.list_page(tx, ADA, text, limit=1),
    ]


WRONG: list[tuple[Act, str, str]] = [
    *((add_prompt(**given), field, rule) for given, field, rule in PROMPTS + NAMES),
    *((update_prompt(**given), field, rule) for given, field, rule in PROMPTS),
    (lambda tx, _id, _number: prompts.add(tx, ADA, PromptDraft(content="x")), "title", "required"),
    *((add_resource(**given), field, rule) for given, field, rule in NAMES + URIS + RESOURCES),
    *((update_resource(**given), field, rule) for given, field, rule in RESOURCES),
    (update_resource(mime_type="image/png"), "content", "dependentRequired"),
    *((add_task(**given), field, rule) for given, field, rule in TASKS),
    *((update_task(**given), field, rule) for given, field, rule in TASKS),
    (update_task(status="done"), "status", "enum"),
    *((update_task(tags=ListChange(added=(tag,))), "tag", "pattern") for tag in ("a b", "", "x" * 51)),
    (lambda tx, _id, number: tasks.update(tx, ADA, number, TaskPatch(blocked_by=[number])), "blocked_by", "acyclic"),
    *((add_note(text), "note", rule) for text, rule in NOTES),
    *((act, "minutes", "minimum") for minutes in (0, -1) for act in claim(minutes)),
    *((act, "minutes", "maximum") for act in claim(1441)),
    *((recall(key), "key", rule) for key, rule in KEYS),
    *((act, "query", "maxLength") for act in search(text="x" * 1001)),
    *((act, "query", "type") for text in (NUL, SURROGATE) for act in search(text=text)),
    *((act, "tags", "maxItems") for act in search(tags=["a"] * 101)),
    *((act, "tags", "type") for tag in (NUL, SURROGATE) for act in search(tags=[tag])),
    *(
        (act, field, rule)
        for given, field, rule in NAMES
        for act in (
            lambda tx, _id, _number, name=given["name"]: projects.add(tx, name),
            lambda tx, _id, _number, name=given["name"]: projects.rename(tx, "default", name),
            lambda tx, _id, _number, name=given["name"]: documents.update(tx, ADA, name, DocumentPatch(content="x")),
            lambda tx, _id, _number, name=given["name"]: documents.delete(tx, ADA, name),
        )
    ),
]


def test_a_forbidden_value_is_refused_and_nothing_is_stored(filled: tuple[Database, str, int]) -> None:
    database, id, number = filled
    before = everything(database)
    for index, (act, field, rule) in enumerate(WRONG):
        with pytest.raises(WrongArgument) as wrong, database.write(ADA) as tx:
            act(tx, id, number)
        assert (wrong.value.field, wrong.value.rule) == (field, rule), f"case {index}"
    assert everything(database) == before


@pytest.mark.parametrize("text", [NUL, SURROGATE])
def test_an_unstorable_name_is_not_found(filled: tuple[Database, str, int], text: str) -> None:
    database, _, number = filled
    before = everything(database)
    lost = Scope(user=ADA.user, project=text)
    acts: list[Callable[[Tx], Any]] = [
        lambda tx: prompts.get(tx, ADA, text),
        lambda tx: prompts.get_by_name(tx, ADA, text),
        lambda tx: layers.find_prompt(tx, ADA, text),
        lambda tx: prompts.update(tx, ADA, text, PromptPatch(title="New")),
        lambda tx: prompts.delete(tx, ADA, text),
        lambda tx: prompts.add(tx, lost, PromptDraft(title="New", content="x")),
        lambda tx: documents.get_by_name(tx, ADA, text),
        lambda tx: documents.get_by_uri(tx, ADA, text),
        lambda tx: layers.find_document(tx, ADA, text),
        lambda tx: tasks.lock(tx, ADA, text),
        lambda tx: tasks.find(tx, ADA, text),
        lambda tx: tasks.update(tx, ADA, text, TaskPatch(title="New")),
        lambda tx: tasks.complete(tx, ADA, text),
        lambda tx: tasks.delete(tx, ADA, text),
        lambda tx: tasks.add(tx, ADA, TaskDraft(title="New", project=text)),
        lambda tx: tasks.update(tx, ADA, number, TaskPatch(project=text)),
        lambda tx: projects.get(tx, ADA, text),
        lambda tx: projects.count_current(tx, Scope(project=text)),
        lambda tx: projects.rename(tx, text, "new"),
        lambda tx: projects.delete(tx, text),
    ]
    for act in acts:
        with pytest.raises(NotFound), database.write(ADA) as tx:
            act(tx)
    with pytest.raises(NotFound):
        projects.require(database, lost)
    assert everything(database) == before


@pytest.mark.parametrize("text", [NUL, SURROGATE])
def test_an_unstorable_name_has_no_suggestion_and_no_completion(filled: tuple[Database, str, int], text: str) -> None:
    database, _, _ = filled
    with database.write(ADA) as tx:
        assert [lookup.suggest(tx, ADA, kind, text) for kind in lookup.NAMED] == [[], [], []]
        assert lookup.find_all(tx, ADA, [text, f"#{text}"]) == [None, None]
        for complete in (completion.projects, completion.prompt_names, completion.prompt_tags):
            assert complete(tx, ADA, text).values == ()
        templates.remember_values(tx, ADA, "p", {"a": text})
        assert templates.recall_values(tx, ADA, "p", "a") == ()


def test_allowed_values_are_stored_in_one_form(filled: tuple[Database, str, int]) -> None:
    database, _, _ = filled
    with database.write(ADA) as tx:
        draft = PromptDraft(title=f"  {'x' * 200}\n", content=" x ", description="", tags=["B", "a", "b"])
        prompt = prompts.add(tx, ADA, draft)
        assert (prompt.title, prompt.content, prompt.description, prompt.tags) == ("x" * 200, " x ", None, ("a", "b"))
        named = prompts.add(tx, ADA, PromptDraft(name="n" * 255, content="x", description="d" * 10_000))
        assert (named.name, named.title) == ("n" * 255, "n" * 200)
        task = tasks.add(tx, ADA, TaskDraft(title=f" {'x' * 500} ", description="", tags=["A"]))
        assert (task.title, task.description, task.tags) == ("x" * 500, None, ("a",))
        for mime_type, given, kept in (
            ("text/plain", "", ""),
            ("text/plain", "é".encode(), "é"),
            ("image/png", b"\0\xff", b"\0\xff"),
            ("image/png", "AP8=", b"\0\xff"),
        ):
            resource = documents.update(tx, ADA, "kept", DocumentPatch(content=given, mime_type=mime_type))
            assert (resource.content, resource.size) == (kept, len(kept.encode() if isinstance(kept, str) else kept))


def test_a_tag_has_letters_of_any_script_in_a_form_that_finds_it_again() -> None:
    given = ["Straße", "日本", "E\u0301", "é", "İstanbul", "हिन्दी", "می\u200cخواهم", "ΣΊΣΥΦΟΣ", "v½", "\u212a", "k"]
    kept = rules.clean_tags("task", given)

    assert kept == sorted(["straße", "日本", "é", "i̇stanbul", "हिन्दी", "می\u200cخواهم", "σίσυφος", "v½", "\u212a", "k"])
    assert rules.clean_tags("task", kept) == kept == sorted(map(rules.fold_tag, kept))


def test_a_list_without_signs_replaces_all_and_one_with_signs_adds_and_removes() -> None:
    for given, expected in (
        (["a", "b"], ["a", "b"]),
        ([], []),
        (["+a", " -B ", "+ c", "--x", "+-y"], ["d", "a", "c", "-y"]),
        (["-z"], ["b", "d", "-x"]),
        (["+z", "-Z"], ["b", "d", "-x"]),
    ):
        assert rules.apply_changes(["b", "d", "-x"], rules.read_changes("tags", given)) == expected
    for given, place in ((["+a", "b"], "tags[1]"), (["a", "-b"], "tags[0]"), (["+"], "tags[0]")):
        with pytest.raises(WrongArgument) as refused:
            rules.read_changes("tags", given)
        assert (refused.value.rule, refused.value.place) == ("signs", place)
