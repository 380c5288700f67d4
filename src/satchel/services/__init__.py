"""The use cases and rules of the store: plain functions that know no JSON, no SQL and no protocol.

rules               what each value may be; every service applies them before it writes
projects            create, find, rename and delete projects
prompts             add, find, list, search, update and delete prompts
resources           add, find, list, update and delete resources
tasks               add, find, list, update, complete and delete tasks
users               the local user
argument_history    the values that a user gave to the arguments of prompts
completion          completions of a half-typed name
suggestions         the known names that are most like a mistyped one
excerpts            the part of a text that a list shows
"""
