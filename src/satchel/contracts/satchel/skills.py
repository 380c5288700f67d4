"""Skills over MCP (SEP-2640): one that teaches Satchel, those of libraries, and prompts with the tag `skill`."""

import os
from binascii import b2a_base64
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import Any

from satchel.contracts.contract import Context, Result
from satchel.errors import NotFound
from satchel.library.skills import (
    SKILL,
    Skill,
    SkillFile,
    SkillRefused,
    is_skill_name,
    list_names,
    parse_head,
    read_skill,
)
from satchel.model import Prompt, PromptQuery
from satchel.protocol import INVALID_PARAMS, ProtocolError
from satchel.protocol.cursors import refuse_cursor
from satchel.services import layers
from satchel.yaml_reader import write_front_matter

SCHEME = "skill://"
TAG = "skill"  # marks prompts that are served as skills

_OWN = f"{SCHEME}satchel/using-satchel"
_LIBRARY, _PROJECT = f"{SCHEME}library/", f"{SCHEME}project/"
_MOST_PROMPTS = 200
_LONGEST_DESCRIPTION = 1024


def answer_skills_list(context: Context, params: dict[str, Any]) -> Result:
    """Answer skills/list."""
    refuse_cursor(params.get("cursor"))
    return {"skills": [_describe(base, skill) for base, skill in _list_all(context)]}


def answer_skills_get(context: Context, params: dict[str, Any]) -> Result:
    """Answer skills/get: return the skill whose SKILL.md has the requested URI."""
    uri: str = params["uri"]
    base = uri.removesuffix(f"/{SKILL}")
    skill = _find(context, base) if base != uri else None
    if skill is None:
        raise ProtocolError(INVALID_PARAMS, f"There is no skill '{uri}'", {"uri": uri})
    return {"skill": _describe(base, skill)}


def read_skill_file(context: Context, uri: str) -> Result | None:
    """Return the content of a skill's file for `resources/read`; None if no skill has such a file."""
    if not uri.startswith(SCHEME):
        return None
    parts = uri.split("/")
    for count in range(len(parts) - 1, 3, -1):  # a skill's folder may have several levels
        skill = _find(context, "/".join(parts[:count]))
        if skill is None:
            continue
        path = "/".join(parts[count:])
        found = next((file for file in skill.files if file.path == path), None)
        return None if found is None else _read(uri, found)
    return None


def _list_all(context: Context) -> Iterator[tuple[str, Skill]]:
    """Yield every valid skill that the caller may see, with the URI of its folder."""
    yield _OWN, _read_own()
    for library in context.libraries.catalog.libraries:
        for name in list_names(library):
            try:
                yield f"{_LIBRARY}{library.name}/{name}", read_skill(library, name)
            except SkillRefused:
                continue  # `satchel library validate` reports the reason
    query = PromptQuery(tags=[TAG])
    after = layers.Position()
    found, _ = layers.list_prompts(context.tx, context.scope, query, limit=_MOST_PROMPTS, after=after)
    for one in found:
        if is_skill_name(one.name):
            prompt = layers.find_prompt(context.tx, context.scope, one.id)
            yield f"{_PROJECT}{prompt.layer or context.scope.project}/{prompt.name}", _make_skill(prompt)


def _find(context: Context, base: str) -> Skill | None:
    """Return the skill whose folder has the URI `base`; None if there is none."""
    if base == _OWN:
        return _read_own()
    if base.startswith(_LIBRARY):
        library_name, _, name = base.removeprefix(_LIBRARY).partition("/")
        library = next((one for one in context.libraries.catalog.libraries if one.name == library_name), None)
        try:
            return None if library is None else read_skill(library, name)
        except SkillRefused:
            return None
    if base.startswith(_PROJECT):
        project, _, name = base.removeprefix(_PROJECT).partition("/")
        if project not in (context.scope.project, context.scope.personal) or not is_skill_name(name):
            return None
        try:
            prompt = layers.find_prompt(context.tx, context.scope, name)
        except NotFound:
            return None
        is_there = prompt.name == name and (prompt.layer or context.scope.project) == project
        return _make_skill(prompt) if is_there and TAG in prompt.tags else None
    return None


@cache
def _read_own() -> Skill:
    with open(os.path.join(os.path.dirname(__file__), "using-satchel.md"), "rb") as file:
        content = file.read()
    return Skill(parse_head(content), (SkillFile(SKILL, content),))


def _make_skill(prompt: Prompt) -> Skill:
    """Convert a prompt to a skill; the prompt's description or title tells an agent when to use the skill."""
    about = " ".join((prompt.description or prompt.title).split())[:_LONGEST_DESCRIPTION]
    frontmatter = {"name": prompt.name, "description": about}
    text = write_front_matter(frontmatter, f"\n{prompt.content}")
    return Skill(frontmatter, (SkillFile(SKILL, text.encode()),))


def _describe(base: str, skill: Skill) -> dict[str, Any]:
    return {
        "uri": f"{base}/{SKILL}",
        "frontmatter": skill.frontmatter,
        "resources": [
            {
                "uri": f"{base}/{file.path}",
                "digest": f"sha256:{sha256(file.content).hexdigest()}",
                "size": len(file.content),
            }
            for file in skill.files
        ],
    }


def _read(uri: str, file: SkillFile) -> Result:
    try:
        text = file.content.decode()
    except UnicodeDecodeError:
        blob = b2a_base64(file.content, newline=False).decode()
        return {"uri": uri, "mimeType": "application/octet-stream", "blob": blob}
    is_markdown = file.path.endswith(".md")
    return {"uri": uri, "mimeType": "text/markdown" if is_markdown else "text/plain", "text": text}
