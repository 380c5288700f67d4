"""The use cases and rules of the store: plain functions that know no JSON, no SQL and no protocol.

rules               the rules for each value, and free names; every service applies them before it writes
projects            create, find, rename and delete projects
prompts             add, find, list, search, update and delete prompts
documents           add, find, list, update and delete documents; the MIME type that a name implies
tasks               add, find, list, update, complete, claim and delete tasks, with notes and blockers
task_lines          the grammar of a task in one line, and adding several from lines
links               links in the texts of items, from both sides
retry_keys          keys that make calls idempotent
copying             copies and moves items to other projects
layers              the personal layer, which every project reads
lookup              finds items by the references that people and agents use, deleted ones too
search              finds items by words, or by a literal text
search_ranking      the items with the words of a query, best ones first
recording           records every change in the transaction that makes it, and keeps the index and the quota in step
history             the versions of an item, the feed of changes, and the retention of both
diffs               versions as texts, and the difference between two
restoring           restores old versions and deleted items; undo; removes items for good
wording             errors in sentences for people
users               the local user
templates           the check of a template before it is saved, and the values that users gave to its arguments
completion          completions of a half-typed name
texts               edits, parts and excerpts of texts, and the known names that are most like a mistyped one
"""
