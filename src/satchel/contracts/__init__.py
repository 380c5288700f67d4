"""The wire surfaces, a file each, and what they are made of.

    contract   what a contract and a tool are: rows of a table
    schema     arguments: their JSON Schema, and whether they are right
    runner     carries out a call by the table of its contract

Only the chosen contract is imported, so this is a table of names.
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
    """The contract of that name.

    Raises:
        KeyError: there is none.
    """
    contract: Contract = import_module(CONTRACTS[name]).CONTRACT
    return contract
