"""The URIs of what is no resource of a project: prompts, tasks and projects themselves."""

PROMPT_URI, TASK_URI, PROJECT_URI = "satchel://prompt/", "satchel://task/", "satchel://project/"


def prompt_uri(name: str) -> str:
    """The URI of a prompt."""
    from urllib.parse import quote  # takes 3 ms, and only names of libraries need it

    return PROMPT_URI + (name if name.isascii() and name.isidentifier() else quote(name, safe=":"))


def named_by(uri: str, start: str) -> str:
    """What a URI names behind its start."""
    from urllib.parse import unquote

    return unquote(uri[len(start) :])
