"""The last visit of a client, and what each author did since."""

from satchel import clock
from satchel.model import Author, ChangeQuery, PromptDraft, PromptPatch, Scope
from satchel.services import history, projects, prompts
from satchel.storage.database import Database

ANN = "11111111-1111-4111-8111-111111111111"
LONG_AGO = "2026-01-01T00:00:00.000000Z"


def scope_of(client: str) -> Scope:
    return Scope(user=ANN, author=Author(user=ANN, client=client, client_version="1"))


def test_a_client_was_last_here_when_it_changed_something_but_at_least_a_day_ago(database: Database) -> None:
    mine, other = scope_of("mine"), scope_of("other")
    with database.write(mine) as tx:
        projects.add(tx, "default")
        prompt = prompts.add(tx, mine, PromptDraft(title="A", content="x"))
        tx.run("update revisions set at = :at", at=LONG_AGO)
    with database.write(other) as tx:
        prompts.update(tx, other, prompt.id, PromptPatch(content="y"))
    with database.read(mine) as tx:
        a_day_ago = clock.days_before(tx.now, 1)
        assert history.find_last_visit(tx, mine, "mine") == LONG_AGO
        assert history.find_last_visit(tx, mine, "other") == a_day_ago
        assert history.find_last_visit(tx, mine, "third") is None and history.find_last_visit(tx, mine, "") is None
        found, has_more = history.list_bursts(tx, mine, ChangeQuery(since=a_day_ago), [], "mine", limit=5, names=5)
        assert [(one.entries[0].key, one.action, one.newest.author.client) for one in found] == [
            ("a", "update", "other")
        ]
        assert not has_more


def test_changes_are_grouped_by_author_kind_and_action_with_a_pause_of_an_hour_between_groups(
    database: Database,
) -> None:
    codex, other = scope_of("codex"), scope_of("other")
    with database.write(codex) as tx:
        projects.add(tx, "default")
        added = [prompts.add(tx, codex, PromptDraft(title=f"P{number}", content="x")) for number in range(7)]
        tx.run("update revisions set at = :at", at=clock.minutes_after(tx.now, -70))
    with database.write(other) as tx:
        prompts.update(tx, other, added[1].id, PromptPatch(content="y"))
        tx.run("update revisions set at = :at where at = :now", at=clock.minutes_after(tx.now, -5), now=tx.now)
    with database.write(codex) as tx:
        prompts.update(tx, codex, added[0].id, PromptPatch(content="y"))
        new = prompts.add(tx, codex, PromptDraft(title="New", content="x"))
        prompts.delete(tx, codex, added[2].id)
    with database.write(codex) as tx:
        prompts.update(tx, codex, new.id, PromptPatch(content="y"))
    query = ChangeQuery(kinds=["prompt"])
    with database.read(codex) as tx:
        bursts, has_more = history.list_bursts(tx, codex, query, [], "codex", limit=9, names=5)
    told = [
        (one.newest.author.client, one.action, len(one.revisions), [entry.key for entry in one.entries])
        for one in bursts
    ]
    assert not has_more
    assert told == [
        ("other", "update", 1, ["p1"]),
        ("codex", "delete", 1, ["p2"]),
        ("codex", "add", 1, ["new"]),
        ("codex", "add", 6, ["p0", "p1", "p3", "p4", "p5"]),
    ]
