"""Typical queries find the wanted items, on both engines."""

from pathlib import Path

from satchel.model import PromptDraft, Scope, TaskDraft
from satchel.services import projects, prompts, tasks
from satchel.services.search import Hit, SearchQuery, search
from satchel.storage.database import Database, open_database
from tests.search.corpus import PAIRS, SCOPE, fill
from tests.support.postgres import PostgresServer


def test_both_engines_find_the_target_first_or_among_the_first_three_in_the_same_order(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    results = []
    for store in (str(tmp_path / "satchel.db"), postgres.fresh()):
        database = open_database(store)
        fill(database)
        results.append({query: [hit.title for hit in find(database, query)][:3] for query, _ in PAIRS})
        database.close()
    assert results[0] == results[1]
    for query, target in PAIRS:
        assert target in results[0][query], query
    others = [query for query, target in PAIRS if results[0][query][0] != target]
    assert len(others) <= 0.04 * len(PAIRS), others


# -- rules of the order -----------------------------------------------------------------------------------------


def find(database: Database, query: str, **more: object) -> list[Hit]:
    with database.read(SCOPE) as tx:
        return search(tx, SCOPE, SearchQuery(text=query, **more))[0]  # type: ignore[arg-type]


def add(database: Database, **contents: str) -> None:
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        for title, content in contents.items():
            prompts.add(tx, SCOPE, PromptDraft(title=title, content=content))


def names(hits: list[Hit]) -> list[str]:
    return [hit.reference for hit in hits]


def test_items_with_all_words_come_before_those_with_some(database: Database) -> None:
    add(database, both="apple and later a banana", one="apple apple apple", other="banana banana", none="cherry")
    assert names(find(database, "banana apple"))[0] == "both"
    assert sorted(names(find(database, "banana apple"))) == ["both", "one", "other"]


def test_a_word_in_the_title_comes_before_the_same_word_in_the_text(database: Database) -> None:
    add(database, text="walrus walrus walrus", walrus="something else")
    assert names(find(database, "walrus")) == ["walrus", "text"]


def test_a_longer_word_is_found_after_the_word_itself(database: Database) -> None:
    add(database, long="a deployment", same="we deploy")
    assert names(find(database, "deploy")) == ["same", "long"]


def test_a_plural_is_found_before_other_longer_words(database: Database) -> None:
    add(database, b="our flags", a="a flagship")
    assert names(find(database, "flag")) == ["b", "a"]


def test_other_forms_of_a_verb_are_found_even_if_many_items_have_the_exact_form(database: Database) -> None:
    forms = ("deletes", "deleted", "deleting", "deletion")
    others = {f"{asked}{number}": f"we {asked} something" for asked in forms for number in range(5)}
    others |= {f"m{number}": "accounts and accounts" for number in range(5)}
    add(database, wanted="delete accounts", **others)
    for asked in forms:
        assert names(find(database, f"{asked} accounts"))[0] == "wanted"


def test_a_mistyped_compound_written_as_two_words_is_found(database: Database) -> None:
    add(database, wanted="a postmortem of it", other="a post about it")
    assert names(find(database, "post morten")) == ["wanted", "other"]


def test_a_compound_is_found_however_it_is_written(database: Database) -> None:
    for number, written in enumerate(("postmortem", "post mortem", "post-mortem", "Post_Mortem", "postMortem")):
        scope = Scope(project=f"project-{number}")
        with database.write(scope) as tx:
            projects.add(tx, scope.project)
            for title, content in (("a", f"About a {written} of it"), ("b", "a blog entry")):
                prompts.add(tx, scope, PromptDraft(title=title, content=content))
            for asked in ("postmortem", "post mortem", "post-mortem", "POSTMORTEM"):
                assert names(search(tx, scope, SearchQuery(text=asked))[0]) == ["a"], (written, asked)


def test_one_typo_is_forgiven_and_two_are_not(database: Database) -> None:
    add(database, a="about kubernetes", b="about something else")
    for wrong in ("kuberntes", "kubernettes", "kubernetas", "kuberneets"):
        assert names(find(database, wrong)) == ["a"]
    assert find(database, "kuebrentes") == []


def test_case_and_accents_do_not_matter(database: Database) -> None:
    add(database, a="Ein Ärgernis in der Straße", b="x")
    for query in ("argernis", "ÄRGERNIS", "strasse", "STRAßE"):
        assert names(find(database, query)) == ["a"]


def test_a_hit_shows_its_line_and_the_text_there(database: Database) -> None:
    add(database, a="first\nsecond\nthe walrus is here\nlast", walrus="nothing of it")
    assert find(database, "walrus") == [
        Hit(kind="prompt", reference="walrus", title="walrus", text="nothing of it"),
        Hit(kind="prompt", reference="a", title="a", line=3, text="the walrus is here"),
    ]


def test_a_hit_shows_the_line_with_most_different_words(database: Database) -> None:
    text = "an error\n" * 300 + "a timeout\nTimeouts and errors\na timeout, an error\n"
    add(database, a=text)
    [hit] = find(database, "error timeout")
    assert (hit.line, hit.text) == (303, "a timeout, an error")


def test_a_long_line_is_shown_around_the_match(database: Database) -> None:
    add(database, a="x " * 500 + "walrus" + " y" * 500)
    [hit] = find(database, "walrus")
    assert hit.line == 1 and "walrus" in hit.text and hit.text[0] == hit.text[-1] == "…" and len(hit.text) <= 162


def test_a_text_in_quotes_is_searched_literally(database: Database) -> None:
    add(database, a="one\nthe quick fox", b="quick the fox", c="THE QUICK one")
    assert [(hit.reference, hit.line) for hit in find(database, '"the quick"')] == [("c", 1), ("a", 2)]
    assert find(database, '"quick  the"') == []


def test_only_words_within_the_first_256_kib_are_indexed(database: Database) -> None:
    add(database, a="start " + "x " * 140_000 + "finish")
    assert names(find(database, "start")) == ["a"]
    assert find(database, "finish") == []


def test_pages_follow_each_other(database: Database) -> None:
    add(database, **{f"n{number}": "walrus" for number in range(7)})
    with database.read(SCOPE) as tx:
        first, has_more = search(tx, SCOPE, SearchQuery(text="walrus", limit=4))
        rest, has_rest = search(tx, SCOPE, SearchQuery(text="walrus", limit=4, offset=4))
    assert (has_more, has_rest) == (True, False)
    assert sorted(names(first + rest)) == [f"n{number}" for number in range(7)]


def test_a_common_word_among_many_items_is_found_with_the_rare_one(database: Database) -> None:
    projects.require(database, SCOPE)
    with database.write(SCOPE) as tx:
        for number in range(700):
            title = f"Walrus {number}" if number != 100 else "Walrus needle"
            tasks.add(tx, SCOPE, TaskDraft(title=title, description="common words everywhere"))
    for query in ("walrus needle", "common needle", "everywhere common needel"):
        assert find(database, query)[0].title == "Walrus needle"
    assert len(find(database, "common", limit=50)) == 50


def test_another_project_is_not_searched(database: Database) -> None:
    add(database, here="walrus")
    with database.write(SCOPE) as tx:
        projects.add(tx, "other")
        there = Scope(user=SCOPE.user, project="other")
        prompts.add(tx, there, PromptDraft(title="There", content="walrus"))
        tasks.add(tx, there, TaskDraft(title="Walrus there", project="other"))
        tasks.add(tx, SCOPE, TaskDraft(title="Walrus"))
        assert sorted(hit.reference for hit in search(tx, SCOPE, SearchQuery(text="walrus"))[0]) == ["#1", "#2", "here"]
        within = SearchQuery(text="walrus", has_project=True)
        assert sorted(hit.reference for hit in search(tx, there, within)[0]) == ["#1", "there"]
        assert names(search(tx, SCOPE, within)[0]) == ["here"]
