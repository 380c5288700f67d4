"""What clients see of the tool that tells a new session where things stand."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.satchel.tools import shared


class CatchUp(Struct):
    since: Annotated[str, Meta(description="Time, 2h, 3d", extra=shared.LINE)] | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


TOOLS = (
    shared.make_tool(
        "",
        "catch_up:catch_up",
        "Begin here: what was done, claimed, is ready",
        CatchUp,
        shared.answer_with(why=shared.STRING, since=shared.STRING),
    ),
)
