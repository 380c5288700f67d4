"""Satchel keeps prompts, documents and tasks in one store and serves them over the Model Context Protocol."""

__version__ = "0.1.0"
