"""The command line: one module per noun, each loaded only when its command is called."""
