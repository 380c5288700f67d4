"""`satchel completion`: prints the script that lets a shell complete commands, options and names from the store."""

import click

VARIABLE = "_SATCHEL_COMPLETE"  # by which the script asks for completions


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def cli(shell: str) -> None:
    """Print the completion script of a shell."""
    from click.shell_completion import get_completion_class

    from satchel.cli.main import cli as satchel

    kind = get_completion_class(shell)
    assert kind is not None, "click knows these shells"
    click.echo(_Script.of(kind)(satchel, {}, "satchel", VARIABLE).source())


class _Script:
    """Leaves out click's check of the version of bash, which would start bash; all since 4.4 (2016) will do."""

    @staticmethod
    def of(kind: type) -> type:
        """A kind of script without the check."""
        return type(kind.__name__, (kind,), {"_check_version": staticmethod(lambda: None)})
