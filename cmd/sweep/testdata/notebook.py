"""Executes the code cells of a notebook and prints, a line of JSON for each, what it would show."""

import ast
import json
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    cells = [cell for cell in json.load(f)["cells"] if cell["cell_type"] == "code"]
names = {"__name__": "__main__"}
for number, cell in enumerate(cells):
    module = ast.parse("".join(cell["source"]), "cell %d" % number)
    last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
    exec(compile(module, "cell %d" % number, "exec"), names)
    shown = {}
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell %d" % number, "eval"), names)
        if hasattr(value, "_repr_mimebundle_"):
            shown = value._repr_mimebundle_(include=None, exclude=None)
        elif hasattr(value, "_repr_html_"):
            shown = {"text/html": value._repr_html_()}
        else:
            shown = {"text/plain": repr(value)}
    print(json.dumps(shown))
