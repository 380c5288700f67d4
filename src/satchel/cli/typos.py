"""What was probably meant by a command, an option or a value of one that there is not."""

from difflib import get_close_matches

import click

from satchel.services.suggestions import closest_names

UNKNOWN = (click.NoSuchOption, click.NoSuchCommand)  # whose own suggestions know only some of the words

_MOST = 3  # suggestions
_ALIKE = 0.65  # the least likeness of words that are alike, as difflib counts it
# What other tools call our commands.
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
    **dict.fromkeys(("doc", "docs", "document", "documents", "file"), ("resource",)),
    **dict.fromkeys(("kanban", "tui"), ("board",)),
    **dict.fromkeys(("status", "today"), ("catch-up",)),
}


def find_near(error: click.UsageError) -> tuple[str, ...]:
    """Up to three words that a usage error may have meant."""
    if isinstance(error, click.NoSuchOption):
        known = [flag for one in _parameters(error) for flag in (*one.opts, *one.secondary_opts) if flag[:2] == "--"]
        return _pick(error.option_name, known)
    if isinstance(error, click.NoSuchCommand) and error.ctx is not None:
        group = error.ctx.command
        known = group.list_commands(error.ctx) if isinstance(group, click.Group) else []
        others = [word for word in _OTHER_WORDS.get(error.command_name.lower(), ()) if word in known]
        return tuple(others) or _pick(error.command_name, known)
    if isinstance(error, click.BadParameter) and error.param is not None and isinstance(error.param.type, click.Choice):
        choices = [str(one) for one in error.param.type.choices]
        given = next((word for word in _words(error) if word not in choices), "")
        return _pick(given, choices)
    return ()


def find_hint(error: click.UsageError) -> str:
    """What to do about a usage error that no other word would mend."""
    if error.message.startswith("Got unexpected extra argument"):
        return "Put a text with spaces into quotes."
    return ""


def _parameters(error: click.UsageError) -> list[click.Parameter]:
    return list(error.ctx.command.get_params(error.ctx)) if error.ctx is not None else []


def _words(error: click.BadParameter) -> list[str]:
    """What was given for a choice: the message has it in its first quotes."""
    return error.message.split("'")[1:2]


def _pick(word: str, known: list[str]) -> tuple[str, ...]:
    """The known words most like one; the dashes of options do not count."""
    plain = {one.lstrip("-"): one for one in known}
    wanted = word.lstrip("-").lower()
    near = tuple(get_close_matches(wanted, plain, _MOST, _ALIKE)) or closest_names(wanted, plain, _MOST)
    return tuple(plain[one] for one in near)
