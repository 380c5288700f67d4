"""The worker process: renders templates and parses TOML, so that a crash or a limit affects only this process.

It imports only what templates need. Messages on stdin and stdout are JSON, preceded by their
length in four bytes; its first message reports that it is ready.
"""

import json
import os
import re
import resource
import signal
import tomllib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NoReturn

import jinja2.lexer
from jinja2 import Template, TemplateNotFound, TemplateRuntimeError, TemplateSyntaxError, nodes

from satchel.library import parts, roles
from satchel.library.names import Names, add_names_of_parts, find_names
from satchel.library.parts import Source
from satchel.library.sandbox import SELF, Sandbox

MEMORY = 256 * 1024 * 1024
MAX_OUTPUT = 1024 * 1024  # bytes
_WORN = 96 * 1024 * 1024  # bytes that a worker may keep; more would make the next template fail
_NICENESS = 10
_MAX_ERROR = 1000  # characters of an error, which may quote a value
# Compiled templates are cached up to this many characters, which take some 30 bytes each; short ones count more.
_MAX_CACHE = 1024 * 1024
_MIN_WEIGHT = 4096
# Jinja2 and Python import these on first use, when the worker can no longer open files.
_LATE_IMPORTS = (
    *("encodings.unicode_escape", "unicodedata", "html", "pprint", "textwrap"),
    *("jinja2.constants", "jinja2.debug"),
)


class TemplateFailed(Exception):
    """A template is wrong, or its result too large; `line` is None if it is unknown."""

    def __init__(self, what: str, line: int | None = None, *, is_include: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.line = line
        self.is_include = is_include  # the template is valid, but an included text is not


class Templates:
    """Renders templates, and caches their compiled form."""

    def __init__(self) -> None:
        jinja2.lexer.newline_re = re.compile("(\n)")  # otherwise, Jinja2 would convert other line endings to this one
        for module in _LATE_IMPORTS:
            import_module(module)
        self._token = str(int.from_bytes(os.urandom(12), "big"))  # digits, because most filters do not change them
        self._compiled: dict[tuple[str, str], Template] = {}
        self._trees: dict[tuple[str, str], nodes.Template] = {}
        self._sandbox = Sandbox(self._compile)

    def render(self, source: Source, values: dict[str, str]) -> str:
        """Render a template.

        Raises:
            TemplateFailed: the template is wrong, or its result too large.
            NeedsFiles: the template includes files that were not given.
        """
        self._gather(source)
        template = self._compile(source.text, source.path)
        if "self" in values:
            values = {**values, SELF: values["self"]}
        self._sandbox.files = source.files
        try:
            return _collect(template.root_render_func(template.new_context(values)))
        except (MemoryError, TemplateFailed):
            raise
        except Exception as error:
            _fail(error, source.path)

    def render_messages(self, source: Source, values: dict[str, str]) -> list[roles.Message]:
        """Render a template that may have sections of several roles. Raises what `render` raises."""
        if not roles.has_sections(source.text):
            return [("user", self.render(source, values))]
        marked = {name: text and roles.mark(text, self._token) for name, text in source.files.items()}
        text = self.render(source._replace(text=roles.mark(source.text, self._token), files=marked), values)
        try:
            return roles.split_marked(text, self._token)
        except ValueError as error:
            raise TemplateFailed(str(error)) from None

    def find_names(self, source: Source) -> tuple[Names, dict[str, str]]:
        """Return the names that a template uses without setting them first, and the included file that uses each.

        Raises what `render` raises.
        """
        found = self._gather(source)
        self._compile(source.text, source.path)
        names = find_names(self._sandbox, source.text)
        texts = [(one, source.files[one.path] or "") for one in found]
        return names, add_names_of_parts(self._sandbox, source.text, names, texts) if texts else {}

    def includes(self, source: Source) -> bool:
        """Return whether a template names other texts."""
        return parts.has_parts(source.text) and any(self._parse(source.text, source.path).find_all(parts.NAMING))

    def _gather(self, source: Source) -> list[parts.Part]:
        try:
            found = parts.gather(source, self._parse)
        except parts.WrongParts as wrong:
            raise TemplateFailed(wrong.what, wrong.line, is_include=True) from None
        except TemplateSyntaxError as error:
            _fail(error, source.path)
        for one in found:
            try:
                self._compile(source.files[one.path] or "", one.path)
            except TemplateFailed as failure:
                where = one.path if failure.line is None else f"{one.path}:{failure.line}"
                raise TemplateFailed(f"{where}: {failure.what}", one.line, is_include=True) from None
        return found

    def _parse(self, source: str, path: str) -> nodes.Template:
        if (path, source) not in self._trees:
            self._make_room(self._trees, source)
            self._trees[path, source] = self._sandbox.parse(source, path or None)
        return self._trees[path, source]

    def _compile(self, source: str, path: str) -> Template:
        if (path, source) not in self._compiled:
            self._make_room(self._compiled, source)
            try:
                code = self._sandbox.compile(source, path or None)
                self._compiled[path, source] = Template.from_code(self._sandbox, code, self._sandbox.make_globals(None))
            except MemoryError:
                raise
            except Exception as error:
                _fail(error, path)
        return self._compiled[path, source]

    def _make_room(self, cache: dict[tuple[str, str], Any], source: str) -> None:
        if sum(max(len(one), _MIN_WEIGHT) for one in (*(text for _, text in cache), source)) > _MAX_CACHE:
            cache.clear()


def _collect(pieces: Iterator[str]) -> str:
    """Join the pieces of a text; stop rendering if it becomes too large."""
    found, size = [], 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size > MAX_OUTPUT:
            break
    text = "".join(found)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise TemplateFailed("the result contains half a character") from None
    if size > MAX_OUTPUT:
        raise TemplateFailed(f"the result is larger than {MAX_OUTPUT} bytes")
    return text


def _fail(error: Exception, path: str) -> NoReturn:
    """Explain an error of the engine with the line of the template that caused it.

    For an error in an included file, this is the line that includes it; the message names the line in that file.
    """
    line, other, other_line = _find_place(error, path)
    if isinstance(error, TemplateSyntaxError):
        line = error.lineno
    if isinstance(error, TemplateNotFound):
        what = f"there is no file {error.message!r} in the library" if path else f"{type(error).__name__}: {error}"
    elif isinstance(error, TemplateSyntaxError | TemplateRuntimeError):
        what = error.message or "it is wrong"
    elif isinstance(error, RecursionError):
        what = "it is nested too deep, or calls itself without end"
    elif isinstance(error, SyntaxError):  # in the Python code that Jinja2 generates, with its variable names
        what = re.sub(r"\bl_[0-9]+_", "", error.msg)
    else:
        what = f"{type(error).__name__}: {error}"
    where = f"{other}:{other_line}: " if other and other_line else f"{other}: " if other else ""
    raise TemplateFailed(f"{where}{what.removesuffix('.')}", line) from None


def _find_place(error: Exception, path: str) -> tuple[int | None, str | None, int | None]:
    """Return the innermost line of the template in a traceback, and file and line of a failing included template.

    For an unknown filter, Jinja2 puts a function `t_1` at the start of the code; its line is meaningless.
    """
    line, other, other_line, step = None, None, None, error.__traceback__
    while step is not None:
        template = step.tb_frame.f_globals.get("__jinja_template__")
        if template is not None and not step.tb_frame.f_code.co_name.startswith("t_"):
            number = template.get_corresponding_lineno(step.tb_lineno)
            if template.name is None or template.name == path:
                line, other, other_line = number, None, None
            else:
                other, other_line = template.name, number
        step = step.tb_next
    return line, other, other_line


# -- the process ------------------------------------------------------------------------------------------------


def main() -> None:
    """Run jobs until stdin is closed."""
    os.nice(_NICENESS)  # templates of one user must not delay others' calls
    reader, writer = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):  # a crashing engine must not write to the caller's streams
        os.dup2(nothing, standard)
    templates, measure = Templates(), open_memory_meter()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # Even outside the sandbox, a template can open no file or connection, and start no process.
    for limit in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC):
        resource.setrlimit(limit, (0, 0))
    send(writer, {"ready": True})
    while (job := receive(reader)) is not None:
        # Limit processor time, because a busy machine is not the template's fault; SIGPROF ends the process.
        signal.setitimer(signal.ITIMER_PROF, job["seconds"])
        try:
            answer = JOBS[job["job"]](templates, job)
        except TemplateFailed as failure:
            answer = {"error": failure.what[:_MAX_ERROR], "line": failure.line, "is_include": failure.is_include}
        except parts.NeedsFiles as more:
            answer = {"needs": more.paths}
        except (MemoryError, RecursionError):
            answer = {"error": "it needs too much memory"}
        signal.setitimer(signal.ITIMER_PROF, 0)
        send(writer, {**answer, "is_worn": measure() > _WORN})


def open_memory_meter() -> Callable[[], int]:
    """Return a function that measures the memory of this process in bytes; it returns 0 if the system does not tell.

    getrusage is unsuitable: its maximum includes the caller's memory at the start of this process.
    """
    try:
        meter = os.open("/proc/self/statm", os.O_RDONLY)  # opened now, because the process cannot open files later
    except OSError:
        return lambda: 0
    return lambda: int(os.pread(meter, 100, 0).split()[1]) * resource.getpagesize()


def render(templates: Templates, job: dict[str, Any]) -> dict[str, Any]:
    """Render a template, as one text or as the messages of its sections."""
    if not job["in_messages"]:
        return {"text": templates.render(_read_source(job), job["values"])}
    return {"messages": templates.render_messages(_read_source(job), job["values"])}


def check(templates: Templates, job: dict[str, Any]) -> dict[str, Any]:
    """Compile a template without rendering it; return the names that it uses without setting them."""
    source = _read_source(job)
    names, files = templates.find_names(source)
    return {"names": {**names, "files": files, "includes": templates.includes(source)}}


def _read_source(job: dict[str, Any]) -> Source:
    return Source(job["template"], job["path"], job["files"], job["is_stored"])


def parse_toml(_: Templates, job: dict[str, Any]) -> dict[str, Any]:
    """Parse a manifest."""
    try:
        return {"toml": tomllib.loads(job["text"])}
    except ValueError as error:  # TOMLDecodeError, or an integer with thousands of digits
        return {"error": str(error)}


JOBS = {"render": render, "check": check, "toml": parse_toml}


def receive(reader: int) -> Any:
    """Read the next job; None at the end of the input."""
    head = read_exactly(reader, 4)
    body = read_exactly(reader, int.from_bytes(head, "big")) if head else b""
    return json.loads(body) if body else None


def send(writer: int, answer: dict[str, Any]) -> None:
    """Write an answer."""
    try:
        body = json.dumps(answer, default=str).encode()
    except (ValueError, RecursionError):
        body = b'{"error": "it is nested too deep"}'
    rest = memoryview(len(body).to_bytes(4, "big") + body)
    while rest:
        rest = rest[os.write(writer, rest) :]


def read_exactly(reader: int, size: int) -> bytes:
    """Read exactly `size` bytes; return empty bytes at the end of the input."""
    content = bytearray()
    while len(content) < size:
        chunk = os.read(reader, min(size - len(content), 65536))
        if not chunk:
            return b""
        content += chunk
    return bytes(content)
