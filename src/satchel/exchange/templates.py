"""Converts templates between Satchel's syntax and those of other tools, as pieces: text, variables, conditions.

A reader splits a text into pieces, or raises `NotTemplate`; a writer joins pieces in another syntax. A template is
converted whole or not at all.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from satchel.model import JINJA2_WORDS, Argument, can_be_argument
from satchel.services import rules


class NotTemplate(Exception):
    """A text has no variables, or variables that cannot be declared; the message names one."""


class Text(Struct, frozen=True):
    """Text outside of variables and conditions."""

    text: str


class Variable(Struct, frozen=True):
    """A variable."""

    name: str
    label: str = ""  # its name in the source, if Satchel does not allow that name
    default: str | None = None
    is_optional: bool = False


class Condition(Struct, frozen=True):
    """The beginning of a part that depends on a variable, the start of its else part, or its end."""

    kind: Literal["if", "unless", "else", "end"]
    name: str = ""


Piece = Text | Variable | Condition


class Template(Struct, frozen=True):
    """The content of a prompt in the store, with its arguments."""

    content: str
    arguments: tuple[Argument, ...] = ()
    notes: tuple[str, ...] = ()


_TOO_LARGE = "Kept as plain text: it is too large for a template."


def convert(text: str, read: Callable[[str], list[Piece]], declared: Sequence[Argument] = ()) -> Template:
    """Convert a foreign text to a template, or to plain text if it is not a template.

    Declarations of variables in `declared` are kept; a declared argument that the text does not use is omitted.
    """
    if len(text) > rules.MAX_TEMPLATE_BYTES:  # readers take more time for each piece of a longer text
        has_signs = "{{" in text or "$" in text
        return Template(text, (), (_TOO_LARGE,) if has_signs else ())
    try:
        pieces = read(text)
    except NotTemplate as reason:
        notes = (f"Kept as plain text: {reason}.",) if str(reason) else ()
        return Template(text, (), notes)
    arguments = _declare(pieces, {one.name: one for one in declared})
    content = write_ours(pieces)
    if not arguments:
        return Template("".join(piece.text for piece in pieces if isinstance(piece, Text)))
    if len(arguments) > rules.MAX_ARGUMENTS or len(content.encode()) > rules.MAX_TEMPLATE_BYTES:
        return Template(text, (), (_TOO_LARGE,))
    unused = [one.name for one in declared if one.name not in {known.name for known in arguments}]
    notes = (f"Not declared, because the text does not use it: {', '.join(unused)}.",) if unused else ()
    return Template(content, arguments, notes)


def _declare(pieces: Sequence[Piece], declared: Mapping[str, Argument]) -> tuple[Argument, ...]:
    found: dict[str, Argument] = {}
    guarded = {piece.name for piece in pieces if isinstance(piece, Condition)}  # these may lack a value
    for piece in pieces:
        if isinstance(piece, Text) or not piece.name:
            continue
        is_required = isinstance(piece, Variable) and piece.default is None and not piece.is_optional
        before = found.get(piece.name)
        if before is None:
            label = piece.label if isinstance(piece, Variable) and piece.label != piece.name else ""
            found[piece.name] = declared.get(piece.name) or Argument(piece.name, label or None, is_required)
        elif is_required and piece.name not in declared:
            found[piece.name] = replace(before, is_required=True)
    for name, one in found.items():
        if name not in declared and name in guarded:
            found[name] = replace(one, is_required=False)
    return tuple(found.values())


def make_argument_name(label: str, taken: Mapping[str, str] | None = None) -> str:
    """Make a name for a variable from any text; `taken` maps names to labels."""
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", rules.drop_accents(label)).strip("_")[:60].rstrip("_")
    name = plain or "value"
    if name[0].isdigit() or name in JINJA2_WORDS:
        name = f"_{name}"
    candidate, number = name, 2
    while taken and taken.get(candidate, label) != label:
        candidate, number = f"{name}_{number}", number + 1
    return candidate


# -- readers ----------------------------------------------------------------------------------------------------


def split(text: str, pattern: str) -> Iterator[str | re.Match[str]]:
    """Yield the matches of a pattern, and the texts between them."""
    end = 0
    for found in re.finditer(pattern, text):
        if found.start() > end:
            yield text[end : found.start()]
        yield found
        end = found.end()
    if end < len(text):
        yield text[end:]


def require_variables(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces if they contain a variable.

    Raises:
        NotTemplate: no piece is a variable.
    """
    if not any(isinstance(piece, Variable) for piece in pieces):
        raise NotTemplate("")
    return pieces


_WORD_LABEL = r"[^\W\d][\w-]{0,60}"
_PHRASE_LABEL = r"[^\W\d_][\w '’/&,()+-]{0,100}"  # several words


def read_dollar_braces(text: str) -> list[Piece]:
    """Read `${name}` and `${Some name:default}`, the variables of prompts.chat.

    Programs also use `${…}`: a text is refused if it has an expression (`${error.message}`), or if all are in code.
    """
    if "${" not in text:
        raise NotTemplate("")
    without_code = re.sub(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", "", text, flags=re.S)
    if "${" not in without_code:
        raise NotTemplate("its ${…} are in code, so they are probably not variables")
    pieces: list[Piece] = []
    labels: dict[str, str] = {}
    for one in split(text, r"\$\{([^{}\n]*)\}"):
        if isinstance(one, str):
            if "${" in one:
                raise NotTemplate("it has a ${ without its }, or one inside another")
            pieces.append(Text(one))
            continue
        label, colon, default = one[1].partition(":")
        label = label.strip()
        is_phrase = " " in label or "/" in label
        if not re.fullmatch(_PHRASE_LABEL if is_phrase else _WORD_LABEL, label):
            raise NotTemplate(f"{one[0][:60]} is not a variable")
        name = make_argument_name(label, labels)
        labels[name] = label
        pieces.append(Variable(name, label, default.strip() if colon and default.strip() else None))
    return require_variables(pieces)


def read_braces(text: str) -> list[Piece]:
    """Read `{{name}}` with plain names only, as in Langfuse, fabric and many Markdown files."""
    if "{{" not in text:
        raise NotTemplate("")
    if re.search(r"\{%|\{#|\$\{\{", text):
        raise NotTemplate("it uses {%, {# or ${{, which belong to another template language")
    pieces: list[Piece] = []
    for one in split(text, r"\{\{([^{}]*)\}\}"):
        if isinstance(one, str):
            if "{{" in one:
                raise NotTemplate("it has {{ without an end")
            pieces.append(Text(one))
            continue
        name = one[1].strip()
        if not can_be_argument(name):
            raise NotTemplate(f"{one[0][:60]} is not a variable")
        pieces.append(Variable(name))
    return require_variables(pieces)


# A part without an end matches to the end of the text, or else a search would start again at each part.
_JINJA = r"\{\{-?(.*?)(?:-?\}\}|\Z)|\{%-?(.*?)(?:-?%\}|\Z)|\{#.*?(?:#\}|\Z)"
_DEFAULT = r"""(\w+)\s*\|\s*(?:default|d)\s*\(\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*(?:,\s*(?:true|True)\s*)?\)"""
_LITERAL = r"'(\{[{%#]?)'"


def read_jinja(text: str) -> list[Piece]:
    """Read the subset of Jinja2 that `write_ours` writes: plain variables, `default`, `if`, `else`, `not`.

    Raises:
        NotTemplate: the text has anything else, such as white space control.
    """
    pieces: list[Piece] = []
    depth = 0
    for one in split(text, rf"(?s){_JINJA}"):
        if isinstance(one, str):
            pieces.append(Text(one))
        elif not one[0].endswith(("}}", "%}", "#}")):
            raise NotTemplate("it has {{, {% or {# without an end")
        elif one[1] is not None:
            pieces.append(_read_expression(one[0], one[1].strip()))
        elif one[2] is not None:
            piece = _read_statement(one[0], one[2].strip())
            depth += {"if": 1, "unless": 1, "else": 0, "end": -1}[piece.kind]
            pieces.append(piece)
        else:
            raise NotTemplate("it has a comment")
        if (not isinstance(one, str) and re.match(r"\{[{%]-", one[0])) or depth < 0:
            raise NotTemplate("it has whitespace control ({{- or {%-), or an end tag without its beginning")
    if depth:
        raise NotTemplate("it has an if without an end")
    return require_variables(_join_texts(pieces))


def _read_expression(whole: str, inside: str) -> Piece:
    if can_be_argument(inside):
        return Variable(inside)
    if literal := re.fullmatch(_LITERAL, inside):
        return Text(literal[1])
    if (found := re.fullmatch(_DEFAULT, inside)) and can_be_argument(found[1]):
        return Variable(found[1], default=_unquote(found[2]))
    raise NotTemplate(f"{whole[:60]} is not a plain variable")


def _read_statement(whole: str, inside: str) -> Condition:
    if inside in ("else", "endif"):
        return Condition("else" if inside == "else" else "end")
    found = re.fullmatch(r"if\s+(not\s+)?(\w+)", inside)
    if found is None or not can_be_argument(found[2]):
        raise NotTemplate(f"{whole[:60]} is more than a plain condition")
    return Condition("unless" if found[1] else "if", found[2])


def _unquote(literal: str) -> str:
    simple = {"n": "\n", "t": "\t", "r": "\r"}

    def replace_escape(found: re.Match[str]) -> str:
        return chr(int(found[2], 16)) if found[2] else simple.get(found[1], found[1])

    return re.sub(r"\\(x([0-9a-fA-F]{2})|.)", replace_escape, literal[1:-1], flags=re.S)


def _join_texts(pieces: Sequence[Piece]) -> list[Piece]:
    joined: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, Text) and joined and isinstance(last := joined[-1], Text):
            joined[-1] = Text(last.text + piece.text)
        else:
            joined.append(piece)
    return joined


_HANDLEBARS = r"(?s)\\?\{\{\{([^{}]*)\}\}\}|\\?\{\{!--.*?(?:--\}\}|\Z)|\\?\{\{~?([^{}]*?)~?\}\}"
_ROLES = ("system:\n", "user:\n", "assistant:\n", "tool:\n")


def read_handlebars(text: str) -> list[Piece]:
    """Read `{{name}}`, `{{#if name}}`, `{{#unless name}}`, `{{else}}`, and dotprompt's `{{role "system"}}`."""
    if "{{" not in text:
        raise NotTemplate("")
    pieces: list[Piece] = []
    blocks: list[str] = []
    for one in split(text, _HANDLEBARS):
        if isinstance(one, str):
            if "{{" in one:
                raise NotTemplate("it has {{ without an end")
            is_after_role = bool(pieces) and isinstance(last := pieces[-1], Text) and last.text in _ROLES
            pieces.append(Text(one.removeprefix("\n") if is_after_role else one))
        elif "{{!--" in one[0] and not one[0].endswith("--}}"):
            raise NotTemplate("it has {{!-- without an end")
        elif one[0].startswith("\\"):
            pieces.append(Text(one[0][1:]))
        elif (inside := (one[1] or one[2] or "").strip()) and not inside.startswith("!"):
            pieces.append(_read_handlebar(one[0], inside, blocks))
    if blocks:
        raise NotTemplate(f"the block {blocks[-1]} has no end")
    return _join_texts(_begin_with_role(pieces))


def _begin_with_role(pieces: list[Piece]) -> list[Piece]:
    """Return pieces in which each role begins a line; text before the first role is the user's."""
    found: list[Piece] = []
    for piece in pieces:
        is_role = isinstance(piece, Text) and piece.text in _ROLES
        last = found[-1] if found else None
        if is_role and last is not None and not (isinstance(last, Text) and last.text.endswith("\n")):
            found.append(Text("\n"))
        found.append(piece)
    texts = (piece.text if isinstance(piece, Text) else "x" for piece in found)
    first = next((text for text in texts if text.strip()), "")
    has_roles = any(isinstance(piece, Text) and piece.text in _ROLES for piece in found)
    return [Text("user:\n"), *found] if has_roles and first not in _ROLES else found


def _read_handlebar(whole: str, inside: str, blocks: list[str]) -> Piece:
    if opened := re.fullmatch(r"#(if|unless)\s+(?:@root\.)?(\w+)", inside):
        if can_be_argument(opened[2]):
            blocks.append(opened[1])
            return Condition("if" if opened[1] == "if" else "unless", opened[2])
    elif inside in ("else", "^"):
        if blocks:
            return Condition("else")
    elif closed := re.fullmatch(r"/(if|unless)", inside):
        if blocks and blocks.pop() == closed[1]:
            return Condition("end")
    elif role := re.fullmatch(r"""role\s+["'](\w+)["']""", inside):
        return Text(f"{role[1]}:\n" if role[1] != "model" else "assistant:\n")
    elif can_be_argument(inside) and inside not in ("this", "history", "section"):
        return Variable(inside)
    raise NotTemplate(f"{whole[:60]} is more than a plain variable or condition")


def read_string_template(text: str) -> list[Piece]:
    """Read `$name`, `${name}` and `$$`, the variables of `llm`."""
    pieces: list[Piece] = []
    for one in split(text, r"\$(?:(\$)|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})"):
        if isinstance(one, str):
            pieces.append(Text(one))
        elif one[1]:
            pieces.append(Text("$"))
        else:
            label = one[2] or one[3]
            pieces.append(Variable(make_argument_name(label), label))
    return _join_texts(pieces)


# -- writers ----------------------------------------------------------------------------------------------------


def write_ours(pieces: Sequence[Piece]) -> str:
    """Write a template in Satchel's syntax, Jinja2."""
    return "".join(_write_one(piece) for piece in _join_texts(pieces))


def _write_one(piece: Piece) -> str:
    if isinstance(piece, Text):
        # A final brace would join the first brace of the next piece.
        return re.sub(r"\{[{%#]|\{\Z", lambda found: "{{ '" + found[0] + "' }}", piece.text)
    if isinstance(piece, Variable):
        if piece.default is None:
            return "{{ " + piece.name + " }}"
        # The default also replaces an empty text, which clients send for an empty field.
        return "{{ " + f"{piece.name} | default({_quote(piece.default)}, true)" + " }}"
    words = {"if": f"if {piece.name}", "unless": f"if not {piece.name}", "else": "else", "end": "endif"}
    return "{% " + words[piece.kind] + " %}"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    # Braces would end the expression early for readers that do not parse strings.
    return '"' + re.sub(r"[{}%#]", lambda found: f"\\x{ord(found[0]):02x}", escaped) + '"'


def write_with(pieces: Sequence[Piece], variable: Callable[[Variable], str]) -> str:
    """Write a text in a syntax that has only variables.

    Raises:
        NotTemplate: there are conditions.
    """
    texts = []
    for piece in pieces:
        if isinstance(piece, Condition):
            raise NotTemplate("the format has no conditions")
        texts.append(piece.text if isinstance(piece, Text) else variable(piece))
    return "".join(texts)


def write_handlebars(pieces: Sequence[Piece]) -> str:
    """Write a template in Handlebars, without defaults, which are declared elsewhere."""
    open_: list[str] = []
    texts = []
    for piece in pieces:
        if isinstance(piece, Text):
            texts.append(piece.text.replace("{{", "\\{{"))
        elif isinstance(piece, Variable):
            texts.append("{{" + piece.name + "}}")
        elif piece.kind in ("if", "unless"):
            open_.append(piece.kind)
            texts.append("{{#" + f"{piece.kind} {piece.name}" + "}}")
        else:
            texts.append("{{else}}" if piece.kind == "else" else "{{/" + open_.pop() + "}}")
    return "".join(texts)
