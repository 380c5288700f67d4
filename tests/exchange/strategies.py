"""What a store may hold, for properties of export, import and sync."""

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec.structs import replace

from satchel.exchange.entries import DocumentEntry, NoteEntry, PromptEntry, TaskEntry
from satchel.model import PRIORITIES, Argument, can_be_argument
from satchel.services import rules
from satchel.services.rules import find_hidden

# Letters, and what files, YAML, JSON and Markdown treat in special ways.
_ODD = "\n\r\t \"'\\:#-{}[]%>|&*!,=~`@$()\u00e9\u2028\x85\x7f\ufeff\U0001f600\u0130ẞ"
texts = st.text(st.one_of(st.sampled_from(_ODD), st.characters(codec="utf-8", exclude_characters="\0")), max_size=40)
lines = st.lists(
    st.sampled_from(["---", "...", "a: b", "- [x] #4 t", "> q", "", "  x", "x  ", '= "y"', "# h"]), max_size=5
)
contents = st.one_of(texts, lines.map("\n".join)).filter(lambda text: bool(text.strip()))
names = st.one_of(
    st.from_regex(r"[A-Za-z0-9._-]{1,12}", fullmatch=True),
    st.sampled_from(["a", "A", "b", ".x", "CON", "x.", "...", "a.md", "n" * 255, "1", "true"]),
)
titles = st.one_of(texts, st.sampled_from(["On", "null", "1", "due:2026-01-01", "+x", "#4 x", '= "x"', "[x] y"]))
tags = st.lists(st.from_regex(r"[a-z0-9_-]{1,8}", fullmatch=True), max_size=3).map(
    lambda some: tuple(sorted(set(some)))
)
days = st.dates().map(lambda day: day.isoformat()).filter(lambda day: len(day) == 10)
moments = st.datetimes().map(lambda moment: moment.isoformat(timespec="microseconds") + "Z")


def is_title(title: str, longest: int = rules.MAX_TITLE) -> bool:
    """Return whether an import takes a title as it is; characters that do not show are left out of it."""
    return bool(title.strip()) and title == title.strip() and len(title) <= longest and find_hidden(title) is None


@st.composite
def arguments(draw: st.DrawFn) -> tuple[Argument, ...]:
    found = draw(
        st.lists(
            st.builds(
                Argument,
                name=st.sampled_from(["x", "tone", "_y", "Name"]).filter(can_be_argument),
                description=st.one_of(st.none(), texts),
                is_required=st.booleans(),
                values=st.lists(texts, max_size=2).map(tuple),
                is_open=st.booleans(),
            ),
            max_size=3,
            unique_by=lambda one: one.name,
        )
    )
    return tuple(found)


prompts: SearchStrategy[PromptEntry] = st.builds(
    PromptEntry,
    name=names,
    title=titles.filter(is_title),
    content=contents,
    description=st.one_of(st.none(), texts.filter(bool), lines.map("\n".join).filter(bool)),
    tags=tags,
    arguments=arguments(),
    expires=st.one_of(st.none(), days),
    replaced_by=st.one_of(st.none(), texts.filter(bool)),
    is_constant=st.booleans(),
).map(lambda one: replace(one, is_constant=one.is_constant and not one.arguments))


@st.composite
def documents(draw: st.DrawFn) -> DocumentEntry:
    name = draw(names)
    is_text = draw(st.booleans())
    return DocumentEntry(
        name=name,
        content=draw(texts) if is_text else draw(st.binary(max_size=20)),
        mime_type=draw(st.sampled_from(["text/plain", "text/markdown"])) if is_text else "image/png",
        uri=draw(st.sampled_from([f"satchel://resource/{name}", f"file:///{name}"])),
        description=draw(st.one_of(st.none(), texts.filter(bool))),
        expires=draw(st.one_of(st.none(), days)),
        replaced_by=draw(st.one_of(st.none(), texts.filter(bool))),
    )


notes = st.builds(NoteEntry, text=contents, at=moments)


@st.composite
def task_lists(draw: st.DrawFn) -> list[TaskEntry]:
    """Tasks that wait for earlier and later ones, or are subtasks of them, without a circle."""
    count = draw(st.integers(0, 4))
    order = draw(st.permutations(range(count)))
    found = []
    for place in range(count):
        status = draw(st.sampled_from(["pending", "review", "completed", "cancelled"]))
        before = [str(one) for one in range(count) if order[one] < order[place]]
        found.append(
            TaskEntry(
                title=draw(titles.filter(is_title)),
                description=draw(st.one_of(st.none(), texts.filter(bool), lines.map("\n".join).filter(bool))),
                status=status,  # type: ignore[arg-type]
                priority=draw(st.sampled_from(PRIORITIES)),
                due=draw(st.one_of(st.none(), days)),
                tags=draw(tags),
                completed_at=None if status in ("pending", "review") else draw(moments),
                key=str(place),
                after=tuple(draw(st.lists(st.sampled_from(before), max_size=2, unique=True)) if before else ()),
                parent=draw(st.sampled_from(["", *before])),
                comments=tuple(draw(st.lists(notes, max_size=2))),
            )
        )
    return found


prompt_lists = st.lists(prompts, max_size=4, unique_by=(lambda one: one.name, lambda one: one.title))
document_lists = st.lists(documents(), max_size=3, unique_by=(lambda one: one.name, lambda one: one.uri))
