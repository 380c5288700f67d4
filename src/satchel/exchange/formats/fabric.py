"""fabric: a folder for each pattern, with `system.md` and sometimes `user.md` in it."""

from collections.abc import Iterator, Sequence

from satchel.exchange.entries import Entry, Found, Problem, Unreadable
from satchel.exchange.formats.shared import (
    Format,
    PromptFacts,
    Written,
    add_notes,
    end_line,
    make_prompt,
    take,
    take_apart,
    trim,
    write_each,
)
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import convert, read_braces, write_with


def recognise(file: SourceFile) -> bool:
    """The file of the system prompt, and those beside it."""
    return file.name == "system.md" or (file.name in ("user.md", "README.md") and file.beside("system.md").exists)


def read(file: SourceFile) -> Iterator[Found]:
    """A prompt with the name of the folder; the text of `user.md` stands below that of `system.md`."""
    if file.name != "system.md":
        if file.beside("system.md").exists:
            return  # read with system.md
        raise Unreadable("a pattern of fabric is a folder with a file system.md")
    text = trim(file.text.replace("\r\n", "\n"))
    user = file.beside("user.md")
    if user.exists:
        try:
            text = "\n\n".join(filter(None, (text, trim(user.text.replace("\r\n", "\n")))))
        except Unreadable as wrong:
            yield Problem(user.shown, str(wrong))
    name = file.folders[-1] if file.folders else file.stem
    yield make_prompt(file.shown, PromptFacts(name=name, template=convert(text, read_braces)))


def write(entries: Sequence[Entry]) -> Written:
    """A folder for each prompt."""
    prompts, notes = take(entries, "prompt", "fabric")
    written = write_each(
        prompts,
        lambda name: f"{name}/system.md",
        lambda one: end_line(write_with(take_apart(one), lambda variable: "{{" + variable.name + "}}")),
    )
    return add_notes(written, notes)


FORMAT = Format(
    name="fabric",
    title="fabric patterns",
    kinds=("prompt",),
    recognise=recognise,
    read=read,
    write=write,
    extensions=("md",),
)
