"""The store: one database, SQLite or PostgreSQL, asked with one text of SQL. Services talk to it, nobody else.

database    opening, transactions, what both engines share
sqlite      the embedded engine          gate        the queue before its write lock
postgres    the shared engine
migrations  the schema, one numbered step after another
prompts, projects   the queries, a module per noun
"""
