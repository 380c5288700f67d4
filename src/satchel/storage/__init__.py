"""The store: one database, SQLite or PostgreSQL, and the same SQL for both. Only services use it.

database            opening a store, transactions, and the methods that engines implement
sqlite              the embedded engine
sqlite_file         the files of a SQLite store: owner, modes, integrity, write access; the fair queue of writers
backup              backs up and restores a SQLite store
dump                writes a store as JSON Lines, and loads it into an empty store of either engine
postgres            the shared engine
postgres_tx         a transaction on a PostgreSQL server, its statements and its errors
postgres_connect    addresses and connections of PostgreSQL, and the check for poolers
postgres_pool       the pool of connections of a process
postgres_schema     migrations during use, and grants, on a PostgreSQL server
changes             announces changes to other processes
schema              the tables of both engines, and migrations
status              contents, integrity and search index of a store, for its operator
projects            queries about projects
prompts             queries about prompts, their tags and their folded texts
documents           queries about documents
tasks               queries about tasks, their pages, claims, notes and blockers
links               queries about links between items, and the URIs that make them
lookup              finds items of all kinds by number, id, name, title or URI
search              the word index: its rows, the items with a word, and the texts of hits
search_words        turns texts into words, each with a level of relevance
search_engines      the full-text index and the literal search for prompts, on each engine
revisions           queries about changes: authors, replaced states, sizes
deltas              old states as differences from the next state
trash               queries about deleted items
pruning             removes rows beyond the retention, in small steps
completion          queries for completion of names and values
users               the settings of a store, and the usage of each user
tokens              queries about tokens
sessions            queries about browser sessions
retry_keys          queries about retry keys, which identify repeated calls
"""
