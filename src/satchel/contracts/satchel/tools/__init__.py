"""The tools of the `satchel` contract as clients see them: names, descriptions, inputs and schemas of answers.

A row names the function of its tool as `module:name`, where the module is beside this package; the first call imports
it. So nothing here imports what a tool does, and these modules are what a start loads of the tools.

search     finds items by words
catch_up   tells a new session where things stand
projects   projects
prompts    prompts
resources  documents
texts      edits a part of a text
tasks      tasks
items      changes or deletes several items of any kind
history    reads what was, and restores it
show       shows tasks or prompts inside the chat
shared     types of arguments, pieces of schemas, and how a row is made
"""

from satchel.contracts.satchel.tools import (
    catch_up,
    history,
    items,
    projects,
    prompts,
    resources,
    search,
    show,
    tasks,
    texts,
)

TOOLS = (
    *search.TOOLS,
    *catch_up.TOOLS,
    *projects.TOOLS,
    *prompts.TOOLS,
    *resources.TOOLS,
    *texts.TOOLS,
    *tasks.TOOLS,
    *items.TOOLS,
    *history.TOOLS,
    *show.TOOLS,
)
