"""Commands of Claude Code: Markdown files in `.claude/commands`, with folders as name spaces."""

from collections.abc import Iterator, Sequence

from satchel.exchange import cleaning, front_matter
from satchel.exchange.entries import Entry, Found, PromptEntry
from satchel.exchange.formats import claude_arguments
from satchel.exchange.formats.shared import (
    Format,
    PromptFacts,
    Written,
    add_notes,
    end_line,
    make_prompt,
    take,
    take_apart,
    text_of,
    trim,
    write_each,
)
from satchel.exchange.sources import SourceFile

_KNOWN = ("description", "name", "title", "tags", "arguments")
_SIGNS = ("argument-hint", "allowed-tools", "disable-model-invocation", "user-invocable")


def recognise(file: SourceFile) -> bool:
    """A Markdown file in a folder `commands` of `.claude`, or with fields that only a command has."""
    if file.extension != "md" or file.name in ("SKILL.md", "README.md"):
        return False
    if _find_root(file.folders) is not None:
        return True
    return file.fields is not None and any(sign in file.fields for sign in _SIGNS) and "name" not in file.fields


def _find_root(folders: Sequence[str]) -> int | None:
    """Where the folders of a command begin that are part of its name."""
    for place in range(len(folders) - 1, -1, -1):
        is_inside = any(one in (".claude", ".claude-plugin") for one in folders[:place])
        if folders[place] == "commands" and is_inside:
            return place + 1
    return None


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt with the path below `commands` as its name: `git/commit.md` is `git-commit`."""
    fields = file.fields or {}
    root = _find_root(file.folders)
    spaces = () if root is None else file.folders[root:]
    text = trim(file.body)
    notes: tuple[str, ...] = ()
    if "!`" in text:
        notes = ("Commands of a shell in it (!`…`) stay text: Satchel runs none.",)
    template = claude_arguments.read_text(text, fields)
    facts = PromptFacts(
        name="-".join((*spaces, file.name.removesuffix(".md"))),
        title=text_of(fields, "title"),
        description=text_of(fields, "description"),
        tags=[*cleaning.list_texts(fields.get("tags")), *spaces],
        template=template,
        fields=fields,
        known=(*_KNOWN, "argument-hint") if template.arguments else _KNOWN,
        notes=notes,
    )
    yield make_prompt(file.shown, facts)


def write(entries: Sequence[Entry]) -> Written:
    """A file for each prompt."""
    prompts, notes = take(entries, "prompt", "a command of Claude Code")
    return add_notes(write_each(prompts, lambda name: f"{name}.md", write_prompt), notes)


def write_prompt(prompt: PromptEntry, name: str | None = None) -> str:
    """A prompt as a file of Claude Code; skills and agents have a name in it."""
    text, names = claude_arguments.write_text(take_apart(prompt))
    description, kept = cleaning.split_fields(prompt.description)
    fields = {"name": name, "description": description or (prompt.title if name else None), **kept}
    hints = [f"[{one}]" for one in names] or [one.description or "" for one in prompt.arguments]
    if any(hints) and hints != ["$ARGUMENTS"]:
        fields.setdefault("argument-hint", " ".join(hints))
    head = front_matter.write({key: value for key, value in fields.items() if value})
    return head + "\n" + end_line(text) if any(fields.values()) else end_line(text)


FORMAT = Format(
    name="claude-commands",
    title="Claude Code commands",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("md",),
)
