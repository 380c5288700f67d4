"""Libraries: folders of prompt templates on disk, read live and trusted in nothing.

files      reads inside one folder and nowhere else
manifest   what twig.toml says, and every problem with it
worker     a process of its own, where TOML is parsed and templates are rendered
render     keeps such workers: deadlines, restarts, one warm spare
catalog    all libraries at one moment, immutable; swapped when the disk changes
watch      notices that the disk has changed
"""
