"""Prints what a program's source says of its parameters and metrics, as JSON. It runs nothing of the program."""

import ast
import json
import sys

KINDS = {"int": "integer", "float": "number", "str": "text", "bool": "boolean"}


def literal(node):
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None
    return value if isinstance(value, (bool, int, float, str, list)) else None


def called(node):
    """The last name of what is called."""
    function = node.func if isinstance(node, ast.Call) else node
    return getattr(function, "attr", getattr(function, "id", ""))


def of(name, kind, default, **more):
    if kind is None and default is not None:
        kind = KINDS.get(type(default).__name__)
    return dict(name=name, kind=kind or "", default=default, **more)


def option(call):
    """A parameter of argparse's add_argument or click's option."""
    words = [literal(a) for a in call.args]
    named = [w for w in words if isinstance(w, str) and w.startswith("--")]
    if not named:
        return None
    given = {k.arg: k.value for k in call.keywords}
    kind = KINDS.get(getattr(given.get("type"), "id", ""))
    choices = literal(given["choices"]) if "choices" in given else None
    if called(given.get("type")) == "Choice":  # click's
        choices = literal(given["type"].args[0]) if given["type"].args else None
    action = literal(given["action"]) if "action" in given else None
    flag = action in ("store_true", "store_false") or bool("is_flag" in given and literal(given["is_flag"]))
    if action in ("version", "help", "append", "count") or "nargs" in given:
        return None
    text = literal(given["help"]) if "help" in given else None
    return of(
        named[0][2:].split("/")[0], "boolean" if flag else kind, False if flag else literal(given["default"]) if "default" in given else None,
        choices=choices or [], flag=flag, required=bool("required" in given and literal(given["required"])), help=text or "",
    )


def arguments(function):
    """The parameters of a function that a library makes a command line of."""
    spec = function.args
    names = spec.args + spec.kwonlyargs
    defaults = [None] * (len(spec.args) - len(spec.defaults)) + spec.defaults + spec.kw_defaults
    for name, default in zip(names, defaults):
        kind = KINDS.get(getattr(name.annotation, "id", ""))
        yield of(name.arg, kind, literal(default) if default is not None else None, choices=[], flag=False,
                 required=default is None, help="")


def mapping(node):
    """The names and values of a mapping that is written down."""
    if isinstance(node, ast.Dict):
        return {literal(k): v for k, v in zip(node.keys, node.values) if k is not None and isinstance(literal(k), str)}
    if isinstance(node, ast.Call) and called(node) == "dict":
        return {k.arg: k.value for k in node.keywords if k.arg}
    return {}


def main():
    tree = ast.parse(sys.stdin.buffer.read())
    found, config, metrics, hydra = {}, {}, [], None
    functions = {n.name: n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = called(node)
        given = {k.arg: k.value for k in node.keywords}
        if name in ("add_argument", "option"):
            one = option(node)
            if one:
                found.setdefault(one["name"], one)
        elif name in ("CLI", "auto_cli", "Fire", "run") and node.args and getattr(node.args[0], "id", "") in functions:
            for one in arguments(functions[node.args[0].id]):
                found.setdefault(one["name"], one)
        elif name == "main" and "config_name" in given:  # of hydra
            hydra = dict(path=literal(given.get("config_path")) or ".", name=literal(given["config_name"]) or "config")
        elif name == "init" and "config" in given:
            for key, value in mapping(given["config"]).items():
                if literal(value) is not None:
                    config.setdefault(key, of(key, None, literal(value), choices=[], flag=False, required=False, help=""))
        elif name in ("log", "dumps") and node.args:
            values = mapping(node.args[0])
            if name == "log" or "step" in values:
                metrics += [m for m in values if m not in metrics]
    json.dump(dict(parameters=list(found.values()) or list(config.values()), config=not found, metrics=metrics, hydra=hydra),
              sys.stdout)


main()
