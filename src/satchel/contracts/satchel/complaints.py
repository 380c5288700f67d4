"""What is wrong with an argument, and what to do about it."""

from satchel.errors import WrongArgument
from satchel.services.rules import MAX_TEMPLATE_BYTES


def complaint(wrong: WrongArgument) -> tuple[str, str]:
    """A sentence, and a hint."""
    field, rule, limit = wrong.field, wrong.rule, wrong.limit
    place = wrong.place if len(wrong.place) <= _LONGEST else f"{wrong.place[:_LONGEST]}..."
    if rule == "required" and wrong.kind == "argument" and isinstance(limit, tuple):
        return f"The prompt needs a value for {' and '.join(limit)}.", "Give it in arguments, by name."
    if rule == "readOnly":
        other = f"The stored prompt of this title is called '{limit}': use that name." if limit else None
        message = f"Prompt '{wrong.value}' is of a library and cannot be changed here."
        return message, other or "Save a copy with add_prompt."
    if rule == "anyOf" and isinstance(limit, tuple):
        return "There is nothing to update.", f"Give one of {', '.join(limit)}."
    if rule == "type":
        return _mistyped(wrong, place)
    if rule == "enum" and isinstance(limit, list | tuple):
        return f"{field} must be one of {', '.join(limit)}.", f"Choose one of them, or leave {field} out."
    if rule == "dependentRequired" and isinstance(limit, tuple):
        return "Changing the MIME type from {} to {} needs new content.".format(*limit), "Give content too."
    if rule == "maxBytes" and limit == MAX_TEMPLATE_BYTES:
        hint = "A template is shorter than other texts: shorten it, or declare no arguments."
        return f"{place} has at most {limit} bytes.", hint
    message, hint = _SENTENCES.get((field, rule)) or _SENTENCES.get(("", rule)) or _UNFORESEEN
    if rule in ("required", "minLength") and field in _MEANINGS:
        hint = f"Give {field}: {_MEANINGS[field]}."
    return message.format(field=place, limit=limit, value=wrong.value), hint.format(field=field)


def _mistyped(wrong: WrongArgument, place: str) -> tuple[str, str]:
    field, limit = wrong.field, str(wrong.limit)
    if field == "task" or (field == "blocked_by" and limit == "string"):
        return f"{place} must be the number or UUID of a task.", 'For example 4, or "#4".'
    if field == "blocked_by":
        return f"{place} must be a list of tasks, by number or UUID.", "For example [4, 7]."
    if limit == "text" or (limit == "string" and isinstance(wrong.value, str)):
        return f"{place} must be a text without NUL.", _UNKEPT
    if limit == "object" and isinstance(wrong.value, dict):
        return f"The names in {place} must be texts without NUL.", _UNKEPT
    what = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "array": "a list"}
    example = _EXAMPLES.get((place, limit)) or _EXAMPLES.get(("", limit.partition(" ")[0]), _UNFORESEEN[1])
    return f"{place} must be {what.get(limit, f'an {limit}')}.", example


_LONGEST = 100  # characters of a place that are worth telling
_UNKEPT = "Leave out what is no character: NUL, and halves of others."
_MEANINGS = {
    "title": "a short line for people",
    "content": "the text itself",
    "name": "letters, digits, - _ and . only",
    "prompt": "the name, title or id of one",
    "resource": "the name or URI of one",
    "task": "the number or UUID of one",
    "blocked_by": "numbers or UUIDs of tasks, or an empty list",
}
_EXAMPLES = {
    ("", "string"): "Put it into quotes.",
    ("", "integer"): "For example 20, without quotes.",
    ("", "boolean"): "Without quotes.",
    ("", "array"): 'For example ["one", "two"].',
    ("arguments", "array"): 'For example [{"name": "who", "required": true}].',
    ("arguments", "object"): 'For example {"who": "Ann"}.',
    ("", "object"): 'For example {"name": "who", "required": true}.',
}
_TAG = ("A tag has 1 to 50 letters, digits, - and _.", "Put a - where a space would be.")
_UNFORESEEN = ("{field} cannot be that.", "See what the tool takes.")
_SENTENCES = {
    ("", "required"): ("{field} is missing.", "Give {field}."),
    ("", "minLength"): ("{field} must not be empty.", "Give {field}, or leave it out."),
    ("", "maxLength"): ("{field} has at most {limit} characters.", "Shorten it."),
    ("", "maxBytes"): ("{field} has at most {limit} bytes.", "Shorten it, or save it in parts."),
    ("", "maxItems"): ("{field} has at most {limit} entries.", "Leave some out."),
    ("", "minimum"): ("{field} is at least {limit}.", "Give a larger number."),
    ("", "maximum"): ("{field} is at most {limit}.", "Give a smaller number."),
    ("limit", "minimum"): ("{field} is at least {limit}.", "Leave it out for the usual 50."),
    ("limit", "maximum"): ("{field} is at most {limit}.", "Ask for fewer; next_cursor leads to the rest."),
    ("expected_version", "minimum"): ("{field} is at least {limit}.", "Give the version that you read."),
    ("expected_version", "maximum"): ("{field} is at most {limit}.", "Give the version that you read."),
    ("", "uniqueItems"): ("{field} names something twice.", "Name each once."),
    ("cursor", "format"): (
        "cursor is none that was given out: use next_cursor of the page before.",
        "Ask again without it for the first page.",
    ),
    ("due", "format"): ("due must be a day like 2026-11-30.", "Leave it out where there is none."),
    ("uri", "format"): ("uri needs a scheme, and no spaces.", "Leave it out for satchel://resource/NAME."),
    ("mime_type", "format"): ("mime_type must look like text/markdown.", "Leave it out for text/plain."),
    ("content", "contentEncoding"): (
        "content must be base64 for a binary type.",
        "Encode it, or give a mime_type of text.",
    ),
    ("tag", "pattern"): _TAG,
    ("tags", "pattern"): _TAG,
    ("name", "pattern"): ("name has letters, digits, - _ and . only.", "For example code-review."),
    ("name", "not"): (
        "name cannot be {value}: that is a prompt of the server itself.",
        "Choose another, or leave it out: one is made from the title.",
    ),
    ("arguments", "pattern"): ("An argument's name has a-z, 0-9 and _ only.", "For example user_name."),
    ("blocked_by", "acyclic"): (
        "A task cannot wait for itself, not even through others.",
        "Leave one of blocked_by out.",
    ),
}
