"""Words of texts, and corrections of mistyped words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.services.search_ranking import list_corrections, parse
from satchel.storage.search_words import LEVELS, ItemText, count_words, fold, make_words, split


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Deploy the API, v2!", ["deploy", "the", "api", "v2"]),
        ("post-mortem", ["postmortem", "post", "mortem"]),
        ("MAX_RETRY_COUNT", ["maxretrycount", "max", "retry", "count"]),
        ("rolloutPercentage", ["rolloutpercentage", "rollout", "percentage"]),
        ("parseHTTPRequest", ["parsehttprequest", "parse", "http", "request"]),
        ("store.path", ["storepath", "store", "path"]),
        ("user's", ["users", "user", "s"]),
        ("Café Señor Çağla Straße", ["cafe", "senor", "cagla", "strasse"]),
        ("Cafe\u0301", ["cafe"]),
        ("Smørrebrød Łódź", ["smorrebrod", "lodz"]),
        ("日本語", ["日本", "本語"]),
        ("E1002 gpt-4", ["e1002", "gpt4", "gpt", "4"]),
        ("a.b.c.d.e.f", ["a", "b", "c", "d", "e", "f"]),
        ("… -- ***", []),
    ],
)
def test_a_text_has_these_words(text: str, words: list[str]) -> None:
    assert split(text) == words


@given(st.text())
def test_every_text_can_be_split_and_folded_again(text: str) -> None:
    words = split(text)
    assert sorted(set(words)) == sorted(count_words(text))
    assert all(word and not word.isspace() and " " not in word and "." not in word for word in words)
    assert fold(fold(text)) == fold(fold(fold(text)))


@given(st.text(alphabet="abcdefghij", min_size=5, max_size=12), st.data())
def test_one_mistake_in_a_word_is_corrected(word: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(word) - 1))
    wrong = data.draw(
        st.sampled_from(
            [
                word[:place] + word[place + 1 :],
                word[:place] + "z" + word[place:],
                word[:place] + "z" + word[place + 1 :],
                word[:place] + word[place + 1 : place + 2] + word[place] + word[place + 2 :],
            ]
        )
    )
    assert wrong == word or len(wrong) < 5 or word in list_corrections(wrong)


def test_short_words_and_codes_are_not_corrected() -> None:
    assert list_corrections("cat") == list_corrections("e1002") == []


def test_stop_words_are_left_out_unless_there_are_no_other_words() -> None:
    assert [term.word for term in parse("how do I get to the deploy").terms] == ["deploy"]
    assert [term.word for term in parse("to do").terms] == ["to", "do"]


@pytest.mark.parametrize(
    ("asked", "stem"),
    [
        ("deleted", "delet"),
        ("deletion", "delet"),
        ("limiting", "limit"),
        ("mapping", "mapp"),
        ("splitting", "split"),
        ("installation", "install"),
        ("string", None),
        ("station", None),
        ("server", None),
        ("speed", None),
    ],
)
def test_a_word_is_asked_for_without_the_ending_of_a_verb(asked: str, stem: str | None) -> None:
    [term] = parse(asked).terms
    assert [one.word for one in term.alternatives if one.is_prefix] == [asked, *([stem] if stem else [])]


@pytest.mark.parametrize(
    ("asked", "other"),
    [("summarize", "summarise"), ("organisation", "organization"), ("colours", "colors"), ("behavior", "behaviour")],
)
def test_a_word_is_asked_for_as_the_british_and_the_americans_write_it(asked: str, other: str) -> None:
    [term] = parse(asked).terms
    assert other in [one.word for one in term.alternatives]
    assert [one.word for one in parse("wise").terms[0].alternatives if not one.is_prefix] == ["wise", "wises"]


def test_the_title_counts_more_than_tags_and_these_more_than_description_and_text() -> None:
    item = ItemText(title="alpha", tags=["bravo"], description="charlie", text="delta")
    levels = {word[2:]: LEVELS.index(word[0]) for word in make_words(item).split()}
    assert levels["alpha"] < levels["bravo"] < levels["charlie"] < levels["delta"]


def test_a_word_that_is_repeated_in_a_short_text_counts_more_than_once_in_a_long_one() -> None:
    often = make_words(ItemText(title="", text="echo echo echo"))
    once = make_words(ItemText(title="", text="echo " + "other " * 2000))
    assert LEVELS.index(often[1]) < LEVELS.index(once[once.index(".echo ") - 1])


def test_a_text_with_very_many_words_keeps_those_that_matter_within_the_bound() -> None:
    text = " ".join(f"word{number:030}" for number in range(40_000))
    words = make_words(ItemText(title="Needle", text=text))
    assert ".needle " in words and len(words) < 400_000
