"""The tool that shows the user tasks or prompts inside the chat; hosts that show no app get the same in words."""

from satchel.contracts.contract import Body, Context
from satchel.contracts.satchel.prompts import list_prompts
from satchel.contracts.satchel.tasks import list_tasks
from satchel.contracts.satchel.tools.prompts import ListPrompts
from satchel.contracts.satchel.tools.show import Show
from satchel.contracts.satchel.tools.tasks import ListTasks


def show(context: Context, args: Show) -> Body:
    if args.what == "prompts":
        return list_prompts(context, ListPrompts(query=args.query, project=args.project))
    return list_tasks(context, ListTasks(status="pending", query=args.query, project=args.project))
