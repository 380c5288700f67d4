"""The names of the formats, for help pages, which load no format. `formats` has the table."""

NAMES = (
    *("satchel", "jsonl", "prompts-chat", "fabric", "claude-commands", "claude-agents", "skills", "vscode-prompts"),
    *("dotprompt", "prompty", "cursor-rules", "llm", "langfuse", "markdown", "basic-memory", "todo-txt", "taskwarrior"),
    *("backlog", "task-master", "beads", "github"),
)

# Other names that people use.
OTHER_NAMES = {
    "csv": "prompts-chat",
    "skill": "skills",
    "agents": "claude-agents",
    "commands": "claude-commands",
    "prompt-md": "vscode-prompts",
    "vscode": "vscode-prompts",
    "cursor": "cursor-rules",
    "mdc": "cursor-rules",
    "todo": "todo-txt",
    "github-issues": "github",
    "backlog-md": "backlog",
    "md": "markdown",
    "claude-code-commands": "claude-commands",
    "claude-code": "claude-commands",
    "taskmaster": "task-master",
    "llm-templates": "llm",
    "llm-template": "llm",
    "json-lines": "jsonl",
    "folder": "satchel",
}


def find_name(given: str) -> str | None:
    """Return the name of a format from any spelling of it, or None."""
    key = given.strip().lower().replace("_", "-").replace(" ", "-").replace(".", "-").strip("-")
    name = OTHER_NAMES.get(key, key)
    return name if name in NAMES else None
