"""What the tests of templates share: the corpus, our renderer, and Jinja2 itself to compare with."""

import json
import time
from pathlib import Path
from typing import Any

from jinja2 import ChainableUndefined, DictLoader, TemplateSyntaxError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from satchel.library.render import Renderer, RenderFailed

BUSY = 60.0  # seconds; a busy machine may have no time for a render, which is then asked for again
# Each line is a template, its arguments, and its text or the line of its error.
CORPUS = [json.loads(line) for line in (Path(__file__).parent / "corpus.jsonl").read_text().splitlines()]

JINJA2 = ImmutableSandboxedEnvironment(undefined=ChainableUndefined, keep_trailing_newline=True, loader=DictLoader({}))


def render(renderer: Renderer, template: str, arguments: dict[str, str] | None = None) -> str | int | None:
    """Return the text of a template, or the line of its error."""
    deadline = time.monotonic() + BUSY
    while True:
        try:
            return renderer.render(template, arguments or {})
        except RenderFailed as failure:
            if not failure.is_exhausted or time.monotonic() > deadline:
                return failure.line


def render_by_jinja2(template: str, arguments: dict[str, Any] | None = None) -> str | int | None:
    """Return the same by Jinja2 itself."""
    try:
        return JINJA2.from_string(template).render(arguments or {})
    except TemplateSyntaxError as error:
        return error.lineno
    except Exception as error:
        line, step = None, error.__traceback__
        while step is not None:
            if step.tb_frame.f_code.co_filename == "<template>":
                line = step.tb_lineno
            step = step.tb_next
        return line
