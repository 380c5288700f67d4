"""The command `satchel` as click sees it: a group whose commands are imported when they are called."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from satchel import __version__
from satchel.cli.colors import color_option
from satchel.cli.ending import report_usage
from satchel.cli.help import add_examples, write_top_epilog
from satchel.cli.serve import serve
from satchel.log import escape
from satchel.settings import SETTINGS

# name → (module, help). The module has a click group or command called `cli`.
COMMANDS = {
    "project": ("satchel.cli.project", "Make, list, rename and delete projects."),
    "prompt": ("satchel.cli.prompt", "Add, list, show, fill in, edit, delete and search prompts."),
    "resource": ("satchel.cli.resource", "Add, list, show, edit, delete and search documents."),
    "task": ("satchel.cli.task", "Add, list, show, edit, claim, finish and delete tasks."),
    "board": ("satchel.cli.board", "Show tasks as a live board on the terminal."),
    "search": ("satchel.cli.search", "Find prompts, documents and tasks by words."),
    "catch-up": ("satchel.cli.catch_up", "Show where things stand: what was done, claimed, is ready."),
    "import": ("satchel.cli.import_items", "Bring in prompts, documents and tasks from other tools."),
    "export": ("satchel.cli.export_items", "Write what a project holds into files."),
    "sync": ("satchel.cli.sync", "Keep a folder and a project the same."),
    "log": ("satchel.cli.log", "Show what changed, and who did it."),
    "diff": ("satchel.cli.diff", "Show what changed between two versions."),
    "restore": ("satchel.cli.restore", "Bring back an old version, what was deleted, or a backup."),
    "undo": ("satchel.cli.undo", "Take back the last thing that you did."),
    "trash": ("satchel.cli.trash", "List and remove what was deleted."),
    "purge": ("satchel.cli.purge", "Remove items for good, with their history and their bytes."),
    "history": ("satchel.cli.history", "Show what history costs."),
    "library": ("satchel.cli.library", "List, show, check, make and render libraries of templates."),
    "open": ("satchel.cli.open", "Open the page of a running server in the browser."),
    "token": ("satchel.cli.token", "Make, list and revoke the tokens of clients over HTTP."),
    "user": ("satchel.cli.user", "Show the user whose tasks are yours."),
    "backup": ("satchel.cli.backup", "Copy the store, while it is in use, to a new file."),
    "dump": ("satchel.cli.dump", "Write everything in the store as JSON Lines."),
    "load": ("satchel.cli.load", "Read a dump into an empty store of either kind."),
    "database": ("satchel.cli.database", "Bring the store up to date, and look at it."),
    "install": ("satchel.cli.install", "Connect MCP clients to Satchel."),
    "doctor": ("satchel.cli.doctor", "Check the installation, the store and every connected client."),
    "uninstall": ("satchel.cli.uninstall", "Disconnect MCP clients."),
    "completion": ("satchel.cli.completion", "Print the completion script for bash, zsh or fish."),
    "contract": ("satchel.cli.contract", "List and show the contracts that can be served."),
}
_COMPLETING = "_SATCHEL_COMPLETE"  # set where a shell asks for completions
SERVE_HELP = "Serve prompts, resources and tasks to MCP clients, over stdio or HTTP."


def run_command(arguments: list[str]) -> int:
    """Run a command; returns its exit status."""
    with report_usage(arguments):
        status = cli.main(arguments, prog_name="satchel", standalone_mode=False)
    return status if isinstance(status, int) else 0


class LazyGroup(click.Group):
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
        return [*super().list_commands(ctx), *COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            command: click.Command = import_module(COMMANDS[cmd_name][0]).cli
            add_examples(command, cmd_name)
            if _COMPLETING in os.environ:
                from satchel.cli.complete import attach

                attach(command)
            return command
        return super().get_command(ctx, cmd_name)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_top_epilog(formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([("serve", SERVE_HELP), *((name, text) for name, (_, text) in COMMANDS.items())])


@contextmanager
def _escape_errors() -> Iterator[None]:
    """Have errors of click, which quote what was typed, or what a script passed on, reach the terminal as text only."""
    try:
        yield
    except click.ClickException as error:
        message = escape(error.format_message())
        error.format_message = lambda: message  # type: ignore[method-assign]
        raise


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="satchel")
@color_option
def cli() -> None:
    """Prompts, documents and tasks for AI agents, in one store, served over MCP."""


@click.pass_context
def _serve(ctx: click.Context, /, **flags: str | tuple[str, ...] | None) -> None:
    ctx.exit(serve({name: list(flag) if isinstance(flag, tuple) else flag for name, flag in flags.items()}))


cli.add_command(
    click.Command(
        "serve",
        callback=_serve,
        help=SERVE_HELP,
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
add_examples(cli.commands["serve"], "serve")
