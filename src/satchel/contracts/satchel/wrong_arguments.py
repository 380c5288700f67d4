"""What is wrong with an argument of a tool, and what to do about it, in words."""

from satchel.contracts.satchel.other_names import find_choice
from satchel.contracts.schema import UNSTORABLE
from satchel.errors import WrongArgument
from satchel.services.rules import MAX_TEMPLATE_BYTES


def describe(wrong: WrongArgument) -> tuple[str, str]:
    """What is wrong with an argument, in a sentence, and a hint what to do about it."""
    field, rule, limit = wrong.field, wrong.rule, wrong.limit
    place = wrong.place if len(wrong.place) <= _MAX_PLACE else f"{wrong.place[:_MAX_PLACE]}..."
    if rule == "required" and wrong.kind == "argument" and isinstance(limit, tuple):
        return f"The prompt needs a value for {' and '.join(limit)}.", "Give it in arguments, by name."
    if rule == "readOnly":
        other = f"The stored prompt of this title is called '{limit}': use that name." if limit else None
        message = f"Prompt '{wrong.value}' is of a library and cannot be changed here."
        return message, other or "Save a copy with add_prompts."
    if rule == "anyOf" and isinstance(limit, tuple):
        return "There is nothing to update.", f"Give one of {', '.join(limit)}."
    if rule == "type":
        return _describe_wrong_type(wrong, place)
    if rule == "enum" and isinstance(limit, list | tuple):
        meant = find_choice(field, str(wrong.value))
        if meant == "in_progress" and meant not in limit:
            return "A task is in progress while it is claimed.", "Use claim_task."
        hint = f"Use {meant}." if meant in limit else f"Choose one of them, or leave {field} out."
        return f"{field} must be one of {', '.join(limit)}.", hint
    if rule == "dependentRequired" and isinstance(limit, tuple):
        return "Changing the MIME type from {} to {} needs new content.".format(*limit), "Give content too."
    if rule == "maxBytes" and limit == MAX_TEMPLATE_BYTES:
        hint = "A template is shorter than other texts: shorten it, or declare no arguments."
        return f"{place} has at most {limit} bytes.", hint
    message, hint = _SENTENCES.get((field, rule)) or _SENTENCES.get(("", rule)) or _OTHER
    if rule in ("required", "minLength") and field in _MEANINGS:
        hint = f"Give {field}: {_MEANINGS[field]}."
    return message.format(field=place, limit=limit, value=wrong.value), hint.format(field=field)


def _describe_wrong_type(wrong: WrongArgument, place: str) -> tuple[str, str]:
    field, limit = wrong.field, str(wrong.limit)
    if wrong.is_unstorable:
        return f"{place} {UNSTORABLE}.", _UNSTORABLE_HINT
    if field == "task" or (field == "blocked_by" and limit == "string"):
        return f"{place} must be the number or UUID of a task.", 'For example 4, or "#4".'
    if field == "blocked_by":
        return f"{place} must be a list of tasks, by number or UUID.", "For example [4, 7]."
    what = {"string": "a text", "integer": "a whole number", "boolean": "true or false", "array": "a list"}
    kind, where = limit.partition(" ")[0], f"{field}[]" if place.startswith(f"{field}[") else place
    example = _EXAMPLES.get((where, kind)) or _EXAMPLES.get(("", kind), _OTHER[1])
    return f"{place} must be {what.get(limit, f'an {limit}')}.", example


_MAX_PLACE = 100  # characters of a place that a message shows
_UNSTORABLE_HINT = "Leave out what is no character: NUL, and halves of others."
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
    ("edits", "array"): 'For example [{"old": "a", "new": "b"}].',
    ("edits[]", "object"): 'For example {"old": "a", "new": "b"}.',
    ("prompts", "array"): 'For example [{"title": "Review", "content": "Review the diff."}].',
    ("prompts[]", "object"): 'For example {"title": "Review", "content": "Review the diff."}.',
    ("resources", "array"): 'For example [{"name": "notes.md", "content": "..."}].',
    ("resources[]", "object"): 'For example {"name": "notes.md", "content": "..."}.',
    ("", "object"): 'For example {"name": "who", "required": true}.',
}
_TAG = ("{field}: a tag has 1 to 50 letters, digits, - and _.", "Put a - where a space would be.")
_REST = "Add the rest with another call."
_OTHER = ("{field} cannot be that.", "See what the tool takes.")
_SENTENCES = {
    ("", "required"): ("{field} is missing.", "Give {field}."),
    ("", "minLength"): ("{field} must not be empty.", "Give {field}, or leave it out."),
    ("", "maxLength"): ("{field} has at most {limit} characters.", "Shorten it."),
    ("", "maxBytes"): ("{field} has at most {limit} bytes.", "Shorten it, or save it in parts."),
    ("", "maxItems"): ("{field} has at most {limit} entries.", "Leave some out."),
    ("", "minimum"): ("{field} is at least {limit}.", "Give a larger number."),
    ("", "maximum"): ("{field} is at most {limit}.", "Give a smaller number."),
    ("query", "minLength"): (
        "query must not be empty.",
        "Give words; the list tools show everything.",
    ),
    ("limit", "minimum"): ("{field} is at least {limit}.", "Leave it out for the usual 50."),
    ("limit", "maximum"): ("{field} is at most {limit}.", "Ask for fewer; next_cursor leads to the rest."),
    ("expected_version", "minimum"): ("{field} is at least {limit}.", "Give the version that you read."),
    ("expected_version", "maximum"): ("{field} is at most {limit}.", "Give the version that you read."),
    ("", "signs"): (
        "{field}: give every entry a + or a -, or none.",
        "Write +x to add, -x to remove; entries without signs replace all.",
    ),
    ("", "uniqueItems"): ("{field} has the same name as another.", "Name each once."),
    ("cursor", "format"): (
        "cursor is none that was given out: use next_cursor of the page before.",
        "Ask again without it for the first page.",
    ),
    ("since", "format"): (
        "since must be a time like 2026-11-17 or 2026-11-17T12:30, or an age like 2h or 3d.",
        "Leave it out for all changes.",
    ),
    ("due", "format"): ("due must be a day like 2026-11-30.", "Leave it out where there is none."),
    ("uri", "reserved"): (
        "uri cannot be {value}: URIs of satchel: name what Satchel keeps.",
        "Leave it out for satchel://resource/NAME.",
    ),
    ("", "hidden"): ("{field} has a character that does not show: {value}.", "Leave it out."),
    ("", "reserved"): ("{field} cannot be {value}: that is an id.", "Choose words."),
    ("uri", "format"): ("uri needs a scheme, and no spaces.", "Leave it out for satchel://resource/NAME."),
    ("mime_type", "format"): ("mime_type must look like text/markdown.", "Leave it out for text/plain."),
    ("content", "template"): (
        "{field} is no template: {value}.",
        "Mend it, or give arguments: [] to keep it as plain text.",
    ),
    ("heading", "not"): ("Give heading or {value}, not both.", "Leave one of them out."),
    ("arguments", "not"): ("Give arguments or {value}, not both.", "A filled-in prompt is given whole."),
    ("lines", "contentEncoding"): ("A document of {value} has no lines.", "Read it without lines."),
    ("heading", "contentEncoding"): ("A document of {value} has no headings.", "Read it without heading."),
    ("item", "contentEncoding"): ("{value} is no text.", "Replace it with update_resource."),
    ("", "minItems"): ("{field} needs at least one entry.", "Give one or more."),
    ("lines", "format"): ("lines must be a range like 10-40, 10- or 25.", "Lines count from 1."),
    ("lines", "maximum"): ("The last line of the text is {limit}.", "Ask for lines that it has."),
    ("content", "contentEncoding"): (
        "content must be base64, which the type {value} needs.",
        "Encode it, or give a mime_type of text.",
    ),
    ("tag", "pattern"): _TAG,
    ("tags", "pattern"): _TAG,
    ("name", "pattern"): ("name has letters, digits, - _ and . only.", "For example code-review."),
    ("name", "not"): (
        "name cannot be {value}: that is a prompt of the server itself.",
        "Choose another, or leave it out: one is made from the title.",
    ),
    ("arguments", "pattern"): (
        "{field} has letters, digits and _ only, no digit first, and is no word of Jinja2.",
        "For example user_name, but neither 2nd nor if.",
    ),
    ("blocked_by", "acyclic"): (
        "A task cannot wait for itself, not even through others.",
        "Leave one of blocked_by out.",
    ),
    ("after", "acyclic"): ("Some lines wait for each other.", "Leave one after: out."),
    ("after", "maximum"): (
        "after:{value} is no task of this call: it has {limit}.",
        "A bare number counts the tasks of the call from 1; write an existing task with #.",
    ),
    ("lines", "minLength"): ("There is no task in lines.", 'For example ["Write docs !high +docs", "Test after:1"].'),
    ("lines", "maxItems"): ("A call adds at most {limit} tasks. Nothing was added.", _REST),
    ("prompts", "maxItems"): ("A call adds at most {limit} prompts. Nothing was added.", _REST),
    ("resources", "maxItems"): ("A call adds at most {limit} documents. Nothing was added.", _REST),
    ("items", "maxItems"): ("A call takes at most {limit} items. Nothing was done.", "Give the rest to another call."),
    ("lines", "grammar"): ("{value} cannot both be.", "Leave one of them out."),
    ("lines", "claims"): ("A new task cannot be in progress.", "Leave [~] out, and use claim_task then."),
    ("lines", "uniqueItems"): ("{value} is the label of another line.", "Give each line its own label, or none."),
    ("note", "maxItems"): ("A task has at most {limit} notes.", "Write into its description instead."),
}
