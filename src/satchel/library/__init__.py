"""Libraries: folders of prompt templates on disk, read live. Their content is not trusted.

files      reads inside one folder and follows no link
manifest   parses twig.toml and collects every problem in it
sandbox    what a template can reach
templates  compiles and renders templates
conditions finds where a template asks whether a variable has a value
worker     the program of a separate process that parses TOML and renders templates
render     runs worker processes: deadlines, restarts, one spare
catalog    an immutable snapshot of all libraries, replaced when the disk changes
skills     reads the skills of a library
watch      notices changes on the disk
validate   checks libraries for their authors
"""
