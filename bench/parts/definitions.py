"""What `tools/list` costs a model before its first question: all of it, and the part that a model is shown."""

import msgspec
from rs_bpe.bpe import openai

from bench.results import Plot, Result, Table
from bench.rivals import gather
from bench.surroundings import Run

HIDDEN = ("outputSchema", "annotations", "icons", "_meta")  # which most clients do not show to a model


def measure(run: Run) -> Result:
    """Ask every rival once; nothing here depends on time."""
    field = gather(run, "definitions")
    run.expect(len(field.rivals))
    tokens = openai.o200k_base()
    rows, shown = [], {}
    notes = [f"{name} could not be installed: {why}" for name, why in field.missing.items()]
    for rival in field.rivals:
        run.step()
        try:
            client = rival.start()
        except (RuntimeError, OSError) as error:
            notes.append(f"{rival.name} did not start: {str(error)[:200]}")
            continue
        tools = client.ask("tools/list", {})["tools"]
        client.close()
        seen = [{key: tool[key] for key in tool if key not in HIDDEN} for tool in tools]
        whole, model = (msgspec.json.encode({"tools": one}).decode() for one in (tools, seen))
        shown[rival.name] = float(len(tokens.encode(model)))
        row = [f"{len(whole.encode()):,}", f"{len(tokens.encode(whole)):,}", f"{shown[rival.name]:,.0f}"]
        rows.append([rival.name, str(len(tools)), *row])
    rows.sort(key=lambda row: shown[row[0]])
    head = ["rival", "tools", "bytes", "tokens of all", "tokens a model is shown"]
    note = "Tokens of o200k. A model sees names, descriptions and input schemas, not output schemas and hints."
    plot = Plot("definitions", "Tokens of tools/list that a model is shown", "tokens", shown)
    figures = {"definition tokens": shown["satchel"]}
    return Result(
        "definitions", tables=[Table("Definitions", head, rows, note)], plots=[plot], figures=figures, notes=notes
    )
