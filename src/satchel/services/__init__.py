"""The use cases and rules of the store: plain functions that know no JSON, no SQL and no protocol.

rules               what each value may be, and free names; every service applies them before it writes
projects            create, find, rename and delete projects
prompts             add, find, list, search, update and delete prompts
documents           add, find, list, update and delete documents; the MIME type that a name implies
tasks               add, find, list, update, complete, claim and delete tasks, with notes and blockers
task_lines          the grammar of a task in one line, and adding several from lines
links               what the texts of items link to, and what links to an item
retry_keys          keys that make a repeated call the same call
copying             copies and moves items to other projects
layers              the personal layer: what is read in every project
lookup              finds items by what people and agents call them, deleted ones too
search              finds items by words, or by a literal text
search_ranking      the items with the words of a query, the best first
recording           records every change in the transaction that makes it, and keeps the index and the quota in step
history             the versions of an item, the feed of changes, and the retention of both
diffs               versions as texts, and the difference between two
restoring           makes an old version, or a deleted item, the newest; undo; removes an item for good
wording             errors in sentences for people
users               the local user
templates           what is found in a template before it is saved, and the values that users gave to its arguments
completion          completions of a half-typed name
texts               edits, parts and excerpts of texts, and the known names that are most like a mistyped one
"""
