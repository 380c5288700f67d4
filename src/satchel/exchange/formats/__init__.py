"""The formats of other tools, one module each, and the table of them.

shared            functions that the formats share, and the value that describes a format
satchel_folder    the folder that `satchel export` writes
json_lines        JSON Lines of Satchel
skills            SKILL.md
agents            agents of Claude Code
claude_commands   commands of Claude Code
vscode_prompts    .prompt.md
dotprompt         .prompt
prompty           .prompty
cursor_rules      .mdc and .cursorrules
fabric            patterns of fabric
prompts_chat      CSV of prompts.chat
llm_templates     templates of llm in YAML
langfuse          JSON of Langfuse
basic_memory      notes of basic-memory, as documents
todo_txt          todo.txt
taskwarrior       JSON of Taskwarrior
task_master       JSON of Task Master
backlog           folders of Backlog.md
beads             JSON Lines of beads
github_issues     JSON of GitHub issues
markdown          any Markdown with front matter
"""

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

# In the order in which they are tried: formats with sure signs first.
FORMATS: tuple[Format, ...] = (
    satchel_folder.FORMAT,
    skills.FORMAT,
    vscode_prompts.FORMAT,
    dotprompt.FORMAT,
    prompty.FORMAT,
    cursor_rules.FORMAT,
    fabric.FORMAT,
    prompts_chat.FORMAT,
    todo_txt.FORMAT,
    json_lines.FORMAT,
    taskwarrior.FORMAT,
    task_master.FORMAT,
    langfuse.FORMAT,
    beads.FORMAT,
    github_issues.FORMAT,
    backlog.FORMAT,
    basic_memory.FORMAT,
    agents.FORMAT,
    claude_commands.FORMAT,
    llm_templates.FORMAT,
    markdown.FORMAT,
)
BY_NAME = {one.name: one for one in FORMATS}


def recognise(file: SourceFile) -> Format | None:
    """Return the format of a file, or None.

    Raises:
        Unreadable: it cannot be read.
    """
    return next((one for one in FORMATS if one.recognise(file)), None)
