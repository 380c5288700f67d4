"""The documentation, held against the code and run.

blocks       the commands of the pages: blocks of shell, and commands inside sentences
places       the folders and homes in which blocks are run
shell        runs the lines of a block as they stand
"""
