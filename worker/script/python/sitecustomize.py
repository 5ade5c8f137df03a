"""Python's start-up module in the trials of sweep: it begins to record what the
program reads, and runs the start-up module of the user that it hides."""

import sys

_compile, sys.dont_write_bytecode = sys.dont_write_bytecode, False
try:
    import _sweep_inputs
except Exception:  # an old Python: the trial's result then says that nothing was recorded
    _sweep_inputs = None
finally:
    sys.dont_write_bytecode = _compile

if _sweep_inputs is not None:
    try:
        _sweep_inputs.begin()
    except Exception:
        pass
    _sweep_inputs.chain(__file__.rpartition("/")[0])
else:
    import imp

    _own = sys.modules.pop("sitecustomize")
    # An agent's trial has two of these modules, which must not run each other in turn.
    sys._sweep_folders = getattr(sys, "_sweep_folders", []) + [__file__.rpartition("/")[0]]
    try:
        _found = imp.find_module("sitecustomize", [path for path in sys.path if path not in sys._sweep_folders])
    except ImportError:
        sys.modules["sitecustomize"] = _own
    else:
        imp.load_module("sitecustomize", *_found)
