"""Measurements of Satchel and its rivals, interleaved in one run: `make bench`, or `python -m bench PART …`.

| module | what it holds |
|---|---|
| `parts/` | one module per part, which returns tables, plots and figures |
| `measuring` | cases in rotation; medians and quartiles |
| `results` | the results of a part, stored in `results/` as JSON with their raw samples |
| `goals`, `report`, `plots` | the report, made from the results |
| `smoke` | the short form for `make check` |
| `installing`, `rivals`, `drivers` | rivals: installed into `.bench/`, started, and driven |
| `servers/` | our own rivals: a bare loop, and the same two tools on the SDK and on fastmcp |
| `stdio`, `web`, `load` | clients that time their calls |
| `stores`, `texts`, `postgres` | stores and their contents |
| `surroundings` | the run, and the machine |
"""
