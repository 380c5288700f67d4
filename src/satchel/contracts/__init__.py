"""The contracts: exact wire surfaces, each a literal table of tools, methods and failures.

    contract       the types of a contract, a tool and the context of a call
    runner         runs a call by the table of its contract
    schema         arguments and answers: their JSON Schema, and the check of arguments
    content        contents and descriptions in MCP's form
    satchel        our own contract: prompts, documents, tasks and libraries together
    prompt_store   the prompts of one project
    mcpkg          the prompts and documents of one project
    twig           the prompts of libraries on disk
    todo           the tasks of the user that each call names
    tasks          the tasks of the connection's user

Only the chosen contract is imported, because defining the Structs of one takes up to 15 ms.
"""

from importlib import import_module

from satchel.contracts.contract import Contract

CONTRACTS = {
    "satchel": "satchel.contracts.satchel",
    "prompt-store": "satchel.contracts.prompt_store",
    "mcpkg": "satchel.contracts.mcpkg",
    "twig": "satchel.contracts.twig",
    "todo": "satchel.contracts.todo",
    "tasks": "satchel.contracts.tasks",
}


def load(name: str) -> Contract:
    """Load the contract with this name.

    Raises:
        KeyError: there is no such contract.
    """
    contract: Contract = import_module(CONTRACTS[name]).CONTRACT
    return contract
