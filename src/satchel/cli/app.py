"""The command `satchel`: a table of commands, each imported when it is called, and suggestions for mistyped words."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import click

from satchel import __version__
from satchel.cli.errors import EXITS, STATUSES, end
from satchel.cli.examples import Command, Group, write_examples
from satchel.cli.output import color_option
from satchel.cli.serve import serve
from satchel.config import SETTINGS
from satchel.log import escape

# name → (module and the command in it, help)
COMMANDS = {
    "project": ("project:cli", "Create, list, rename, set and delete projects."),
    "prompt": ("prompt:cli", "Add, list, show, fill in, edit, label and delete prompts."),
    "document": ("document:cli", "Add, list, show, edit and delete documents."),
    "resource": ("document:cli", "The same as `document`."),
    "task": ("task:cli", "Add, list, show, edit, claim, finish, review and delete tasks."),
    "board": ("board:cli", "Show tasks as a live board on the terminal."),
    "search": ("search:cli", "Find prompts, documents and tasks by words."),
    "catch-up": ("search:catch_up", "Show recent changes, claimed tasks and tasks ready to start."),
    "remember": ("document:remember", "Remember one line for the project, or for all with -p personal."),
    "import": ("importing:cli", "Import prompts, documents and tasks from other tools."),
    "export": ("exporting:cli", "Write a project into files."),
    "sync": ("sync:cli", "Keep a folder and a project in sync."),
    "log": ("history:log", "Show what changed, and who changed it."),
    "diff": ("history:diff", "Show what changed between two versions."),
    "restore": ("backup:restore", "Bring back an old version, a deleted item, or a backup."),
    "undo": ("history:undo", "Undo your last change."),
    "trash": ("history:trash", "List and remove deleted items."),
    "purge": ("history:purge", "Remove items for good, with their history and their bytes."),
    "history": ("history:history", "Show the size of history."),
    "library": ("library:cli", "List, show, check, make and render libraries of templates."),
    "open": ("open:cli", "Open the page of a running server in the browser."),
    "token": ("token:cli", "Create, list and revoke the tokens of clients over HTTP."),
    "user": ("user:cli", "Show the user whose tasks are yours."),
    "backup": ("backup:backup", "Copy the store, while it is in use, to a new file."),
    "dump": ("backup:dump", "Write everything in the store as JSON Lines."),
    "load": ("backup:load", "Read a dump into an empty store of either kind."),
    "database": ("database:cli", "Migrate the store, and show its status."),
    "install": ("install:cli", "Connect MCP clients to Satchel."),
    "doctor": ("doctor:cli", "Check the installation, the store and every connected client."),
    "uninstall": ("install:uninstall", "Disconnect MCP clients."),
    "completion": ("completion:cli", "Print the completion script for bash, zsh or fish."),
    "contract": ("contract:cli", "List and show the contracts that can be served."),
}
DOCUMENTATION = "https://github.com/satchel-mcp/satchel/blob/main/docs/README.md"
WELCOME = f"""\
Satchel {__version__} keeps prompts, documents and tasks for your AI agents.

  satchel install    connect Claude Code, Cursor, VS Code, Codex, Gemini CLI and others
  satchel doctor     check that everything works

All commands:  satchel help
Documentation: {DOCUMENTATION}
"""
_SERVE_HELP = "Serve prompts, documents and tasks to MCP clients, over stdio or HTTP."

# The words that other tools use for our commands and nouns.
_OTHER_WORDS = {
    **dict.fromkeys(("rm", "remove", "del"), ("delete", "remove", "uninstall")),
    **dict.fromkeys(("ls", "all"), ("list",)),
    **dict.fromkeys(("new", "create", "make"), ("add", "create", "new")),
    **dict.fromkeys(("get", "cat", "view", "read", "info"), ("show",)),
    **dict.fromkeys(("update", "set", "modify", "change"), ("edit", "update")),
    **dict.fromkeys(("complete", "finish", "close", "check"), ("done", "doctor")),
    **dict.fromkeys(("start", "take", "begin", "assign"), ("claim",)),
    **dict.fromkeys(("comment",), ("note",)),
    **dict.fromkeys(("tag", "untag", "rename"), ("edit",)),
    **dict.fromkeys(("find", "grep"), ("search",)),
    **dict.fromkeys(("fill", "run", "use"), ("render",)),
    **dict.fromkeys(("next", "todo"), ("ready", "task")),
    **dict.fromkeys(("doc", "docs", "documents", "file"), ("document",)),
    **dict.fromkeys(("kanban", "tui"), ("board",)),
    **dict.fromkeys(("status", "today"), ("catch-up",)),
}
_VERBS = ("add", "list", "show", "edit", "delete")  # of each of these nouns
_NOUNS = ("prompt", "document", "task")
_UNKNOWN = (click.NoSuchOption, click.NoSuchCommand)  # click's own suggestions know fewer words
_MOST = 3  # the limit of suggestions
_ALIKE = 0.65  # the minimum difflib ratio of similar words


def run_command(arguments: list[str]) -> int:
    """Run a command; return its exit status."""
    with _report_usage(arguments):
        status = cli.main(arguments, prog_name="satchel", standalone_mode=False)
    return status if isinstance(status, int) else 0


class LazyGroup(Group):
    """A group that lists its commands without importing them."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        with _escape_errors():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        with _escape_errors():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *(name for name in self.commands if name != "serve"), "serve"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, name = COMMANDS[cmd_name][0].partition(":")
            command: click.Command = getattr(import_module(f"satchel.cli.{module}"), name)
            return command
        return super().get_command(ctx, cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(ctx, formatter)
        with formatter.section("Exit status"):
            formatter.write_dl([(str(one.status), one.meaning) for one in EXITS])
        formatter.write_paragraph()
        formatter.write_text(f"Documentation: {DOCUMENTATION}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own = [(name, command.get_short_help_str(200)) for name, command in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*own[:1], *((name, text) for name, (_, text) in COMMANDS.items()), *own[1:]])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "--version", "-V", prog_name="satchel")
@color_option
def cli() -> None:
    """Keep prompts, documents and tasks for AI agents in one store, and serve them over MCP."""


@click.pass_context
def _serve(ctx: click.Context, /, **flags: str | tuple[str, ...] | None) -> None:
    ctx.exit(serve({name: list(flag) if isinstance(flag, tuple) else flag for name, flag in flags.items()}))


cli.add_command(
    Command(
        "serve",
        callback=_serve,
        help=_SERVE_HELP,
        params=[
            click.Option(
                [setting.name, *setting.flags],
                metavar=setting.metavar or None,
                help=setting.full_help,
                multiple=setting.is_repeated,
                is_flag=setting.is_flag,
                flag_value="yes" if setting.is_flag else None,
                type=str,
            )
            for setting in SETTINGS
        ],
    )
)


@cli.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def show_help(ctx: click.Context, words: Sequence[str]) -> None:
    """Show the help of a command."""
    assert ctx.parent is not None
    context, found = ctx.parent, ctx.parent.command
    for word in words:
        if not isinstance(found, click.Group):
            raise click.UsageError(f"'{context.command_path}' has no commands.", context)
        _, inner, _ = found.resolve_command(context, [word])
        assert inner is not None, "click refuses an unknown command"
        found, context = inner, click.Context(inner, info_name=word, parent=context)
    click.echo(found.get_help(context))


@cli.command("version")
def show_version() -> None:
    """Show the version of Satchel."""
    click.echo(f"satchel, version {__version__}")


# -- mistakes ---------------------------------------------------------------------------------------------------


@contextmanager
def _escape_errors() -> Iterator[None]:
    """Escape control characters in the words of the command line that click quotes in error messages."""
    try:
        yield
    except click.ClickException as error:
        message = escape(error.format_message())
        error.format_message = lambda: message  # type: ignore[method-assign]
        raise


@contextmanager
def _report_usage(arguments: Sequence[str]) -> Iterator[None]:
    """End the command with an error message if it fails, with a suggestion if a word is wrong."""
    as_json = "--json" in arguments
    try:
        yield
    except click.exceptions.NoArgsIsHelpError as error:
        if as_json:
            end("Missing command.", "invalid_argument", as_json=True)
        error.show()
        raise SystemExit(STATUSES["invalid_argument"]) from error
    except click.UsageError as error:
        near = _find_near(error)
        hint = f"Did you mean {' or '.join(near)}?" if near else ""
        if not near and error.message.startswith("Got unexpected extra argument"):
            hint = "Put a text with spaces into quotes."
        message = (error.message if isinstance(error, _UNKNOWN) else error.format_message()).rstrip()
        message = message.encode("utf-8", "replace").decode()  # the user's input in it may not be UTF-8
        message += "" if message.endswith((".", "?", "!")) else "."
        if as_json:
            help = f"See: {error.ctx.command_path} --help" if error.ctx else ""
            facts = {"code": "invalid_argument", "message": message, "hint": hint or help}
            value = {"error": {**facts, "near": list(near)} if near else facts}
            end(message, "invalid_argument", as_json=True, value=value)
        click.UsageError(escape(f"{message} {hint}".strip()), error.ctx).show()
        raise SystemExit(STATUSES["invalid_argument"]) from error
    except click.ClickException as error:
        end(error.format_message(), as_json=as_json)
    except click.Abort as aborted:
        if isinstance(aborted.__cause__ or aborted.__context__, KeyboardInterrupt):
            end("interrupted.", "interrupted", as_json=as_json)
        end("stopped; nothing more was done.", as_json=as_json)


def _find_near(error: click.UsageError) -> tuple[str, ...]:
    """After a usage error, return up to three words that the user may have meant."""
    if isinstance(error, click.NoSuchOption):
        parameters = error.ctx.command.get_params(error.ctx) if error.ctx is not None else []
        known = [flag for one in parameters for flag in (*one.opts, *one.secondary_opts) if flag[:2] == "--"]
        return _pick(error.option_name, known)
    if isinstance(error, click.NoSuchCommand) and error.ctx is not None:
        group = error.ctx.command
        known = group.list_commands(error.ctx) if isinstance(group, click.Group) else []
        words = [error.command_name.lower(), *_OTHER_WORDS.get(error.command_name.lower(), ())]
        return (
            tuple(word for word in words if word in known)
            or _find_elsewhere(error.ctx, words)
            or _pick(error.command_name, known)
        )
    if isinstance(error, click.BadParameter) and error.param is not None and isinstance(error.param.type, click.Choice):
        choices = [str(one) for one in error.param.type.choices]
        given = error.message.split("'")[1:2]  # the first word that the message quotes
        return _pick(next((word for word in given if word not in choices), ""), choices)
    return ()


def _find_elsewhere(context: click.Context, words: Sequence[str]) -> tuple[str, ...]:
    """Return the commands that a verb without its noun means, or a command that was written after a noun."""
    if context.parent is None:
        verb = next((word for word in words if word in _VERBS), None)
        return tuple(f"satchel {noun} {verb}" for noun in _NOUNS) if verb else ()
    return (f"satchel {words[0]}",) if words[0] in COMMANDS else ()


def _pick(word: str, known: list[str]) -> tuple[str, ...]:
    """Return the words of `known` most similar to `word`, ignoring the leading dashes of options."""
    from satchel.services.texts import closest_names  # imports the store, and is needed only after a mistake

    plain = {one.lstrip("-"): one for one in known}
    wanted = word.lstrip("-").lower()
    near = tuple(get_close_matches(wanted, plain, _MOST, _ALIKE)) or closest_names(wanted, plain, _MOST)
    return tuple(plain[one] for one in near)
