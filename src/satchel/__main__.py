"""The command `satchel`. `serve` starts without click, which takes 20 to 30 ms; click runs everything else."""

import sys


def main() -> int:
    """Run the command line and return the exit status."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["serve"]:
        from satchel.cli.serve import run

        status = run(arguments[1:])
        if status is not None:
            return status
    from satchel.cli.main import cli

    return cli.main(arguments, prog_name="satchel")


if __name__ == "__main__":
    sys.exit(main())
