"""The formats of other tools, one module each, and the table of them."""

from satchel.exchange.entries import KINDS
from satchel.exchange.formats import (
    agents,
    backlog,
    basic_memory,
    beads,
    claude_commands,
    cursor_rules,
    dotprompt,
    fabric,
    github_issues,
    json_lines,
    langfuse,
    llm_templates,
    markdown,
    prompts_chat,
    prompty,
    satchel_folder,
    skills,
    task_master,
    taskwarrior,
    todo_txt,
    vscode_prompts,
)
from satchel.exchange.formats.shared import Format
from satchel.exchange.sources import SourceFile

# Formats are tried in this order, those with clear signs first. The extensions are those of the files that are read
# if the user names the format.
FORMATS = (
    Format("satchel", KINDS, satchel_folder, ("json",)),
    Format("skills", ("prompt",), skills, ("md",)),
    Format("vscode-prompts", ("prompt",), vscode_prompts, ("md",)),
    Format("dotprompt", ("prompt",), dotprompt, ("prompt",)),
    Format("prompty", ("prompt",), prompty, ("prompty",)),
    Format("cursor-rules", ("prompt",), cursor_rules, ("mdc", "cursorrules")),
    Format("fabric", ("prompt",), fabric, ("md",)),
    Format("prompts-chat", ("prompt",), prompts_chat, ("csv",)),
    Format("todo-txt", ("task",), todo_txt, ("txt",)),
    Format("jsonl", KINDS, json_lines, ("jsonl",)),
    Format("taskwarrior", ("task",), taskwarrior, ("json", "jsonl", "data", "txt")),
    Format("task-master", ("task",), task_master, ("json",)),
    Format("langfuse", ("prompt",), langfuse, ("json", "jsonl")),
    Format("beads", ("task",), beads, ("jsonl",)),
    Format("github", ("task",), github_issues, ("json",)),
    Format("backlog", ("task",), backlog, ("md",)),
    Format("basic-memory", ("document",), basic_memory, ("md",)),
    Format("claude-agents", ("prompt",), agents, ("md",)),
    Format("claude-commands", ("prompt",), claude_commands, ("md",)),
    Format("llm", ("prompt",), llm_templates, ("yaml", "yml")),
    Format("markdown", ("prompt",), markdown, ("md", "markdown")),
)
BY_NAME = {one.name: one for one in FORMATS}
NAMES = tuple(BY_NAME)
# Other names that people use for formats.
OTHER_NAMES = {
    "csv": "prompts-chat",
    "skill": "skills",
    "agents": "claude-agents",
    "todo": "todo-txt",
    "md": "markdown",
    "github-issues": "github",
    "backlog-md": "backlog",
    "taskmaster": "task-master",
    "json-lines": "jsonl",
    "folder": "satchel",
    **dict.fromkeys(("commands", "claude-code", "claude-code-commands"), "claude-commands"),
    **dict.fromkeys(("vscode", "prompt-md"), "vscode-prompts"),
    **dict.fromkeys(("cursor", "mdc"), "cursor-rules"),
    **dict.fromkeys(("llm-template", "llm-templates"), "llm"),
}


def find_name(given: str) -> str | None:
    """Return the name of a format for any accepted spelling of it, or None."""
    key = given.strip().lower().replace("_", "-").replace(" ", "-").replace(".", "-").strip("-")
    name = OTHER_NAMES.get(key, key)
    return name if name in BY_NAME else None


def recognise(file: SourceFile) -> Format | None:
    """Return the format of a file, or None."""
    return next((one for one in FORMATS if one.module.recognise(file)), None)
