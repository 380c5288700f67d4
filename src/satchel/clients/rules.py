"""The lines for AGENTS.md and CLAUDE.md that tell an agent when to use Satchel."""

import re

BEGIN, END = "<!-- satchel -->", "<!-- /satchel -->"
LINES = (
    "At the start of a session call `catch_up` of the MCP server `satchel`; before you write a prompt, a document or a "
    "plan, `search` there: it may exist.",
    "Keep prompts, documents and tasks that outlive the session in Satchel (`add_prompts`, `add_resources`, "
    "`add_tasks`); claim a task before you work on it, and complete it when it is done.",
)
_BLOCK = re.compile(rf"(?:\r?\n)*{re.escape(BEGIN)}.*?{re.escape(END)}(?:\r?\n)?", re.S)


def add_rule(text: str | None) -> str:
    """A text with the rule at its end, or where it was."""
    text = text or ""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join((BEGIN, *LINES, END)) + newline
    found = _BLOCK.search(text)
    if found is not None:
        start = text.index(BEGIN, found.start())
        return text[:start] + block + text[found.end() :]
    rest = text.rstrip("\r\n")
    return rest + newline * 2 + block if rest.strip("\ufeff \t") else text + block


def remove_rule(text: str) -> str:
    """A text without the rule."""
    found = _BLOCK.search(text)
    if found is None:
        return text
    before, after = text[: found.start()], text[found.end() :]
    newline = "\r\n" if "\r\n" in text else "\n"
    return before + (newline if before.strip("\ufeff") else "") + after
