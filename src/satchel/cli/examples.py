"""The examples in the help of each command, and the click classes that print them. A test parses every line."""

import click


class Command(click.Command):
    """A command whose help ends with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        write_examples(ctx, formatter)


class Group(click.Group):
    """A group of commands whose help ends with examples."""

    command_class = Command

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        write_examples(ctx, formatter)


def write_examples(ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the examples of a context's command."""
    with formatter.section("Examples"):
        path = ctx.command_path.partition(" ")[2]
        path = path.replace("resource", "document", 1) if path.startswith("resource") else path
        for line in EXAMPLES.get(path, ()):
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


# The keys are the words after `satchel`.
EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "satchel install                       connect the AI clients on this machine",
        "satchel prompt add 'Code review' 'Review this change for bugs.'",
        "satchel task add 'Write the docs' --priority high --due 2026-12-01",
        "satchel board                         tasks of the project, live",
        "satchel search review                 find anything by words",
    ),
    "serve": ("satchel serve", "satchel serve --transport http --port 8000 --auth token"),
    # -- projects
    "project": ("satchel project create web", "satchel project list"),
    "project create": ("satchel project create web",),
    "project list": ("satchel project list", "satchel project list --json"),
    "project current": ("satchel project current",),
    "project rename": ("satchel project rename web website",),
    "project set": ("satchel project set web --review people",),
    "project delete": ("satchel project delete web --yes",),
    # -- prompts
    "prompt": ("satchel prompt add Greeting 'Say hello to {{ name }}.'", "satchel prompt render greeting name=Ada"),
    "prompt add": (
        "satchel prompt add 'Code review' @review.md --tag review",
        "satchel prompt add Greeting 'Say hello to {{ name }}.' --arg 'name:Who is greeted'",
        "satchel prompt add Tone 'Write {{ tone }}.' --arg 'tone?=formal|friendly:How it sounds'",
        "git diff | satchel prompt add 'Last diff' - --plain",
    ),
    "prompt list": ("satchel prompt list --tag review", "satchel prompt list --search release --limit 10 --json"),
    "prompt tags": ("satchel prompt tags",),
    "prompt show": ("satchel prompt show code-review", "satchel prompt show code-review --lines 1-20"),
    "prompt render": (
        "satchel prompt render greeting name=Ada",
        "satchel prompt render everyday:review code=@main.py language=Python",
        "git diff | satchel prompt render code-review diff=-",
    ),
    "prompt edit": (
        "satchel prompt edit code-review",
        "satchel prompt edit code-review @review.md --tag +security --tag -draft",
        "satchel prompt edit greeting --arg 'name:Who is greeted' --arg 'tone?'",
    ),
    "prompt label": (
        "satchel prompt label code-review production",
        "satchel prompt label code-review production --version 3",
        "satchel prompt label code-review staging --remove",
    ),
    "prompt delete": ("satchel prompt delete code-review greeting",),
    "prompt history": ("satchel prompt history code-review", "satchel prompt history code-review --against 1"),
    "prompt copy": ("satchel prompt copy code-review --to web",),
    "prompt move": ("satchel prompt move code-review greeting --to web",),
    # -- documents
    "document": ("satchel document add notes.md 'What I know.'", "satchel document show notes.md"),
    "document add": (
        "satchel document add notes.md 'What I know.'",
        "satchel document add logo file:///logo.png @docs/logo.png",
        "curl -s https://example.com/api.md | satchel document add api.md - --description 'The API'",
    ),
    "document list": ("satchel document list", "satchel document list --search api --json"),
    "document show": ("satchel document show notes.md --heading Setup", "satchel document show logo > logo.png"),
    "document edit": ("satchel document edit notes.md", "satchel document edit notes.md @notes.md --description Notes"),
    "document delete": ("satchel document delete notes.md",),
    "document history": ("satchel document history notes.md --version 1",),
    "document copy": ("satchel document copy notes.md --to web",),
    "document move": ("satchel document move notes.md --to web",),
    # -- tasks
    "task": ("satchel task add 'Write the docs' --priority high", "satchel task ready", "satchel task done 1"),
    "task add": (
        "satchel task add 'Write the docs' --tag docs --priority high --due 2026-12-01",
        "satchel task add 'Write the docs +docs !high due:2026-12-01'",
        "satchel task add 'Announce it' --after 1 --description 'On the blog.' --project web",
    ),
    "task list": (
        "satchel task list",
        "satchel task list --status done --project web --limit 10",
        "satchel task list --tag docs --search setup --json",
    ),
    "task ready": ("satchel task ready --project web",),
    "task show": ("satchel task show 4", "satchel task show 'Write the docs' --json"),
    "task edit": (
        "satchel task edit 4 'Write better docs' --priority urgent",
        "satchel task edit 4 --tag +docs --tag -draft --after +3 --due ''",
        "satchel task edit 4 --parent 2",
    ),
    "task done": ("satchel task done 4 --note 'Merged.'", "satchel task done 4 5 6"),
    "task accept": ("satchel task accept 4",),
    "task return": ("satchel task return 4 --note 'The tests still fail on Windows.'",),
    "task reopen": ("satchel task reopen 4",),
    "task cancel": ("satchel task cancel 4",),
    "task claim": ("satchel task claim", "satchel task claim 4 --minutes 60"),
    "task release": ("satchel task release 4",),
    "task note": ("satchel task note 4 'The tests still fail on Windows.'",),
    "task delete": ("satchel task delete 4 5", "satchel task delete --status cancelled --dry-run"),
    "task history": ("satchel task history 4",),
    "task copy": ("satchel task copy 4 --to web",),
    "task move": ("satchel task move 4 5 --to web",),
    "board": ("satchel board --project web", "satchel board --all"),
    "search": ("satchel search release notes", "satchel search '\"exact words\"' --kind document"),
    "remember": ("satchel remember 'Deploy with make release'", "satchel remember 'Answer in German' -p personal"),
    "catch-up": ("satchel catch-up", "satchel catch-up --since monday --project web"),
    # -- files of other tools
    "import": (
        "satchel import ~/.claude/commands ~/.claude/agents",
        "satchel import prompts.csv --dry-run",
        "satchel import todo.txt --on-clash replace",
        "gh issue list --json number,title,body,state,labels | satchel import - --format github",
    ),
    "export": (
        "satchel export backup",
        "satchel export everything --all",
        "satchel export project.jsonl --format jsonl",
        "satchel export .claude/commands --format claude-commands --force",
        "satchel export - --format todo-txt",
    ),
    "sync": (
        "satchel sync notes --project web",
        "satchel sync notes --check     exit status 1 if they differ",
        "satchel sync notes --watch     until Ctrl-C",
    ),
    # -- history
    "log": (
        "satchel log --since yesterday",
        "satchel log code-review",
        "satchel log --all --format jsonl > audit.jsonl",
    ),
    "diff": ("satchel diff code-review", "satchel diff '#4' 1 3"),
    "restore": ("satchel restore code-review --version 2", "satchel restore '#4'", "satchel restore ./monday.db"),
    "undo": ("satchel undo", "satchel undo --last 3 --project web --yes"),
    "trash": ("satchel trash list", "satchel trash empty"),
    "trash list": ("satchel trash list --all",),
    "trash empty": ("satchel trash empty --yes",),
    "purge": ("satchel purge code-review '#4' --yes",),
    "history": ("satchel history size",),
    "history size": ("satchel history size --json",),
    # -- libraries
    "library": ("satchel library new everyday", "satchel library render everyday:review code='print(1)'"),
    "library list": ("satchel library list",),
    "library show": ("satchel library show everyday",),
    "library validate": ("satchel library validate", "satchel library validate ."),
    "library new": ("satchel library new everyday",),
    "library render": ("satchel library render everyday:review code='print(1)' language=Python",),
    "library add": ("satchel library add https://example.com/prompts.git --ref main",),
    "library update": ("satchel library update",),
    "library remove": ("satchel library remove everyday",),
    # -- servers and stores
    "open": ("satchel open", "satchel open https://satchel.example --print"),
    "token": ("satchel token create --expires 90d", "satchel token list"),
    "token create": ("satchel token create --name laptop --read-only --project web --expires 90d",),
    "token list": ("satchel token list --json",),
    "token revoke": ("satchel token revoke 1f2e3d4c",),
    "user": ("satchel user",),
    "backup": ("satchel backup monday.db",),
    "dump": ("satchel dump everything.jsonl",),
    "load": ("satchel load everything.jsonl --database copy.db",),
    "database": ("satchel database status",),
    "database status": ("satchel database status --json",),
    "database migrate": ("satchel database migrate",),
    # -- clients
    "help": ("satchel help", "satchel help task add"),
    "version": ("satchel version",),
    "install": (
        "satchel install",
        "satchel install claude-code cursor --rule",
        "satchel install zed --print",
        "satchel install --print json",
    ),
    "uninstall": ("satchel uninstall claude-code", "satchel uninstall cursor --scope project"),
    "doctor": ("satchel doctor", "satchel doctor --fix"),
    "completion": (
        'eval "$(satchel completion bash)"     in ~/.bashrc',
        'eval "$(satchel completion zsh)"      in ~/.zshrc',
        "satchel completion fish > ~/.config/fish/completions/satchel.fish",
    ),
    "contract": ("satchel contract list",),
    "contract list": ("satchel contract list",),
    "contract show": ("satchel contract show todo add_task",),
}
