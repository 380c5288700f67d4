def write(r): pass
