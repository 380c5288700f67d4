"""Measurements of Satchel beside its rivals, interleaved in one run: `make bench`, or `python -m bench PART …`.

| module | what it holds |
|---|---|
| `parts/` | one module per part: what is measured, as tables, plots and figures |
| `measuring` | the one way of measuring: cases in rotation, medians with their spread |
| `results` | what a part has found; kept in `results/` as JSON |
| `goals`, `report`, `plots` | the report, made from the results |
| `smoke` | the short form for `make check` |
| `installing`, `rivals`, `drivers` | rivals: brought into `.bench/`, started, and driven |
| `servers/` | rivals of our own: the least that a server can be, and the same two tools on the SDK and on fastmcp |
| `stdio`, `web`, `load` | clients that time what they wait for |
| `stores`, `texts`, `postgres`, `surroundings` | what is stored, and where |
"""
