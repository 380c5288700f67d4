"""The grammar of tasks in lines: reading, writing, and that both agree."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from satchel.errors import EntryRefused, WrongArgument
from satchel.model import PRIORITIES
from satchel.services.task_lines import MAX_TASKS, TaskLine, find_doubts, read, write

TRICKY = [
    *("+1", "@home", "!high", "!HIGH", "due:2026-01-01", "due:", "after:#3", "after:", "after:#3,", "#5", "#5,", "7"),
    *("in:#3", "in:", "[?]", "\\- a", "!P1", "due:soon", "every:week", "#tag", "\\!P1"),
    *("-", "*", "[ ]", "[x]", "[~]", "\\", "\\+1", "\\\\@x", "\\-", "\\#4", "#4", "a", "é", "C++", "+", "(ann", "\t"),
]
WORDS = st.one_of(st.sampled_from(TRICKY), st.text(min_size=1, max_size=8))
TITLES = st.one_of(
    st.lists(st.sampled_from(TRICKY), min_size=1, max_size=5).map(" ".join),
    st.lists(WORDS, min_size=1, max_size=5).map("  ".join),
).map(lambda title: " ".join(title.splitlines()).strip())
DESCRIPTIONS = st.lists(st.sampled_from(["", "- a", "  - b", "\\- c", "```", "  b", "#4 c", "d +x"]), max_size=4).map(
    lambda lines: "\n".join(["text", *lines, "end"])
)
LINES = st.builds(
    TaskLine,
    title=TITLES.filter(bool),
    label=st.none() | st.integers(0, 10**18 - 1),
    mark=st.sampled_from(["", "x", "-", "~", "?"]),
    priority=st.sampled_from(PRIORITIES),
    due=st.none() | st.just("2026-12-01"),
    tags=st.lists(st.from_regex("[A-Za-z0-9_-]{1,9}", fullmatch=True), max_size=3).map(tuple),
    project=st.none() | st.from_regex("[A-Za-z0-9._-]{1,9}", fullmatch=True),
    after=st.lists(st.from_regex("#?[0-9]{1,4}", fullmatch=True), max_size=3).map(tuple),
    parent=st.none() | st.from_regex("#?[0-9]{1,4}", fullmatch=True),
    description=st.none() | DESCRIPTIONS,
)


@given(LINES)
@example(TaskLine(title="Learn +1"))
@example(TaskLine(title="\\+1 \\+1"))
@example(TaskLine(title="see after:#3, #5"))
@example(TaskLine(title="- [x] #4 done", label=4, mark="x"))
def test_a_written_task_is_read_back_unchanged(line: TaskLine) -> None:
    assert read([write(line)]) == [line]


@given(st.lists(LINES, min_size=1, max_size=4))
def test_several_tasks_may_be_one_text_or_many(lines: list[TaskLine]) -> None:
    written = [write(line) for line in lines]
    texts = [part for one in written for part in one.split("\n")]
    for given_as in (written, texts, ["\n".join(written)], ["\n\n".join(written)]):
        assert [replace(line, place=0) for line in read(given_as)] == lines


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        found = read([text])
    except (WrongArgument, EntryRefused):
        return
    assert 0 < len(found) <= MAX_TASKS


def one(text: str) -> TaskLine:
    [line] = read([text])
    return line


def test_a_line_says_everything_about_a_task() -> None:
    text = "#4 [x] Write docs !high due:2026-12-01 +docs +web @site after:#3,2 in:#1"
    line = TaskLine(
        title="Write docs",
        label=4,
        mark="x",
        priority="high",
        due="2026-12-01",
        tags=("docs", "web"),
        project="site",
        after=("#3", "2"),
        parent="#1",
    )
    assert one(text) == line
    assert write(line) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Buy milk", TaskLine(title="Buy milk")),
        ("- Buy milk", TaskLine(title="Buy milk")),
        ("* [ ] Buy milk", TaskLine(title="Buy milk")),
        ("- [X] Buy milk", TaskLine(title="Buy milk", mark="x")),
        ("[ ] #4 Buy milk", TaskLine(title="Buy milk", label=4)),
        ("Pay +1 bonus", TaskLine(title="Pay +1 bonus")),
        ("Pay a bonus \\+1", TaskLine(title="Pay a bonus +1")),
        ("Mail bob@example.com", TaskLine(title="Mail bob@example.com")),
        ("Do it !URGENT Due:2026-01-02", TaskLine(title="Do it", priority="urgent", due="2026-01-02")),
        ("Do it after:#3, #5 ,", TaskLine(title="Do it after:#3, #5 ,")),
        ("Do it after:#3, #5, 7 +x", TaskLine(title="Do it", after=("#3", "#5", "7"), tags=("x",))),
        ("   Indented as a whole\n     more", TaskLine(title="Indented as a whole", description="more")),
        (
            "Title\r\n  first\r\n\r\n    code\r\n  last\r\n",
            TaskLine(title="Title", description="first\n\n  code\nlast"),
        ),
        ("Title\n\tone\n\t\ttwo", TaskLine(title="Title", description="one\n\ttwo")),
        ("!high", TaskLine(title="", priority="high")),  # the rule about titles refuses this later
    ],
)
def test_what_a_line_may_be(text: str, line: TaskLine) -> None:
    assert one(text) == line


@pytest.mark.parametrize(
    ("texts", "place", "field", "rule"),
    [
        (["A\nB\nC !low !high"], "lines[2]", "lines", "grammar"),
        (["A", "  about it", "", "B !low !high"], "lines[3]", "lines", "grammar"),
        (["[ ] [x] A", "[x] #4 [ ] B"], "lines[1]", "lines", "grammar"),
        (["x" * 8001], "lines[0]", "title", "maxLength"),
    ],
)
def test_an_unreadable_line_is_refused_with_its_place(texts: list[str], place: str, field: str, rule: str) -> None:
    with pytest.raises(EntryRefused) as refused:
        read(texts)
    cause = refused.value.cause
    assert isinstance(cause, WrongArgument)
    assert (refused.value.place, cause.field, cause.rule) == (place, field, rule)


def test_an_indented_text_is_of_the_task_before_it() -> None:
    assert read(["A", "  one", "", "    two", "B +x", "\tthree", ""]) == [
        TaskLine(title="A", description="one\n\n  two"),
        TaskLine(title="B", tags=("x",), description="three", place=4),
    ]


PRIORITY, DAY = "write a priority as !low, !high or !urgent", "write a day as due:2026-12-01"
NO_REPETITION = "every: is not known, because tasks do not repeat"
AFTER, TAG = "write blockers as after:#7,2", "write a tag as +docs: letters, digits, - or _"


@pytest.mark.parametrize(
    ("text", "words", "advice"),
    [
        ("Do it priority:high", "priority:high", [PRIORITY]),
        ("Do it depends_on:#26", "depends_on:#26", [AFTER]),
        ("Do it after:words", "after:words", [AFTER]),
        ("Do it after:1,,2", "after:1,,2", [AFTER]),
        ("Do it #tagme", "#tagme", [TAG]),
        ("Do it +a.b", "+a.b", [TAG]),
        ("Do it deadline:friday every:week", "deadline:friday every:week", [DAY, NO_REPETITION]),
    ],
)
def test_words_that_look_like_facts_stay_in_the_title_and_are_doubted(text: str, words: str, advice: list[str]) -> None:
    line = one(text)
    assert line.title == f"Do it {words}"
    assert find_doubts(line.title) == (words, advice)
    assert one(write(line)) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "Weekly  sync every:week +mgmt due:2026-12-01T14:00 !super @web",
            TaskLine(
                title="Weekly  sync every:week due:2026-12-01T14:00 !super",
                tags=("mgmt",),
                project="web",
            ),
        ),
        ("Sync +a   every:week +b  #c", TaskLine(title="Sync   every:week  #c", tags=("a", "b"))),
        ("Sync after:#3, #5 #tagme", TaskLine(title="Sync #tagme", after=("#3", "#5"))),
        ("Sync \\+a every:week +b", TaskLine(title="Sync +a every:week", tags=("b",))),
        ("Sync !super now +b", TaskLine(title="Sync !super now", tags=("b",))),
    ],
)
def test_facts_may_stand_between_words_that_resemble_one(text: str, line: TaskLine) -> None:
    assert one(text) == line == one(write(line))


@pytest.mark.parametrize(
    "title", ["Do it", "Learn +1", "Fix #26", "!P1 is done", "Wow !", "Add 1 + 1", "Learn C++ / C#"]
)
def test_other_words_are_not_doubted(title: str) -> None:
    assert find_doubts(title) is None


def test_there_is_at_least_one_task_and_not_too_many() -> None:
    for texts, rule in (([], "minLength"), ([" \n"], "minLength"), (["x"] * 201, "maxItems")):
        with pytest.raises(WrongArgument) as refused:
            read(texts)
        assert (refused.value.field, refused.value.rule) == ("lines", rule)
    assert len(read(["\n".join(["x"] * 200)])) == 200


def test_indented_items_are_subtasks_and_other_indented_lines_stay_a_description() -> None:
    text = """Launch @site
  Before autumn
  - Build +code
    - [x] Compile
      with care
    more about the build
  - [?] Test after:2
  * not a task
  ```
  - nor this
  ```
  \\- nor that
Rest in:1"""
    found = read([text])
    assert [(line.title, line.parent, line.project, line.mark, line.description) for line in found] == [
        ("Launch", None, "site", "", "Before autumn\n* not a task\n```\n- nor this\n```\n- nor that"),
        ("Build", "1", "site", "", "more about the build"),
        ("Compile", "2", "site", "x", "with care"),
        ("Test", "1", "site", "?", None),
        ("Rest", "1", None, "", None),
    ]
    with pytest.raises(EntryRefused) as refused:
        read(["A\n  - B in:#3"])
    assert (refused.value.place, str(getattr(refused.value.cause, "value", ""))) == (
        "lines[1]",
        "in:#3 and an indented line",
    )
