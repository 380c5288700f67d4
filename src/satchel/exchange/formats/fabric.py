"""fabric: a folder for each pattern, with `system.md` and sometimes `user.md` in it."""

from collections.abc import Iterator, Sequence

from satchel.exchange.entries import Entry, Found, Problem, PromptEntry, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.exchange.templates import convert, read_braces, write_with


def recognise(file: SourceFile) -> bool:
    """Recognise the file of a system prompt, and the files beside it."""
    return file.name == "system.md" or (file.name in ("user.md", "README.md") and file.beside("system.md").exists)


def read(file: SourceFile) -> Iterator[Found]:
    """Read a prompt named after its folder; the text of `user.md` follows the text of `system.md`."""
    if file.name != "system.md":
        if file.beside("system.md").exists:
            return  # read together with system.md
        raise Unreadable("a pattern of fabric is a folder with a file system.md")
    text = shared.trim(file.text.replace("\r\n", "\n"))
    user = file.beside("user.md")
    if user.exists:
        try:
            text = "\n\n".join(filter(None, (text, shared.trim(user.text.replace("\r\n", "\n")))))
        except Unreadable as wrong:
            yield Problem(user.shown, str(wrong))
    name = file.folders[-1] if file.folders else file.stem
    yield shared.make_prompt(file.shown, name, convert(text, read_braces), {})


def write(entries: Sequence[Entry]) -> shared.Written:
    """Write a folder for each prompt."""
    return shared.write_prompts(entries, "fabric", "{}/system.md", _write)


def _write(prompt: PromptEntry) -> str:
    return shared.end_line(write_with(shared.take_apart(prompt), lambda variable: "{{" + variable.name + "}}"))
