"""Libraries: folders of prompt templates on disk, read live and not trusted.

manifest   the prompts and the problems of a library, from twig.toml or front matter
catalog    an immutable snapshot of all libraries, replaced when the disk changes; reads and renders their texts
watch      detects changes on the disk
validate   checks libraries for their authors
skills     reads the skills of a library
sources    reads files from git repositories, archives and folders, within bounds
installing adds, updates and removes libraries from elsewhere
render     runs worker processes: deadlines, restarts, the share of each user
worker     the program of a worker process: compiles and renders templates, parses TOML
sandbox    what a template can reach
parts      the files that a template includes or extends
names      finds the names that a template uses without setting them
roles      the sections of prompts of several messages
"""
