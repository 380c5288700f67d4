"""Tests of the documentation: pages are compared with the code, and their commands run.

blocks       finds the commands of the pages: blocks of shell, and commands inside sentences
places       makes the folders and homes in which blocks run
shell        runs the lines of a block
"""
