"""The tool that tells a new session where things stand. `catch_up_answers` has what it does."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel import shared


class CatchUp(Struct):
    since: Annotated[str, Meta(description="Time, 2h, 3d", extra=shared.LINE)] | UnsetType = UNSET
    project: shared.Project | UnsetType = UNSET


def catch_up(context: Context, args: CatchUp) -> Body:
    from satchel.contracts.satchel import catch_up_answers  # with history, which a start does not need

    return catch_up_answers.answer(context.within(args.project), args)


TOOLS = (
    shared.make_tool(
        "",
        catch_up,
        "Begin here: what was done, claimed, is ready",
        CatchUp,
        shared.answer_with(why=shared.STRING, since=shared.STRING),
    ),
)
