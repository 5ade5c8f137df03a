"""Stand-in for the package wandb inside the trials of sweep.

What a script logs goes to its trial; nothing leaves this machine, and no account
is needed. Only the standard library is used. See docs/scripts.md of sweep for
what is taken, what is left out, and what happens to it.
"""

import atexit as _atexit
import os as _os
import sys as _sys

from . import _events
from ._config import Config, _Unready
from ._media import (
    Audio, Box3D, Graph, Histogram, Html, Image, JoinedTable, Molecule, Object3D,
    Plotly, Table, Video, _Media,
)
from ._artifact import Artifact
from ._run import Run, Summary, _new_run
from ._sweep import agent, controller, sweep
from .errors import CommError, Error, UsageError

__version__ = "0.19.11"

# The run of this process, None before init and after finish.
run = None
# What scripts read and write without a run at hand.
config = _Unready("config")
summary = _Unready("summary")


class Settings:
    """Takes every setting; those that mean something here are passed on by init."""

    def __init__(self, **settings):
        self.__dict__.update(settings)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def update(self, settings=None, **more):
        self.__dict__.update(settings or {}, **more)


def init(
    job_type=None, dir=None, config=None, project=None, entity=None, reinit=None, tags=None,
    group=None, name=None, notes=None, mode=None, id=None, config_exclude_keys=None,
    config_include_keys=None, settings=None, sync_tensorboard=None, **ignored,
):
    """Begins a run. The one of a trial has the sweep's values in its config."""
    global run
    if run is not None:
        if reinit in (None, False, "default", "return_previous"):
            if config is not None:
                run.config._merge(config, config_exclude_keys, config_include_keys)
            return run
        if reinit != "create_new":
            run.finish()
    mode = mode or getattr(settings, "mode", None)
    new = _new_run(
        job_type=job_type, dir=dir, config=config, project=project, entity=entity, tags=tags, group=group,
        name=name, notes=notes, mode=mode, id=id, exclude=config_exclude_keys, include=config_include_keys,
        settings=settings,
    )
    _show(new)
    if sync_tensorboard or getattr(settings, "sync_tensorboard", None):
        from ._tensorboard import patch

        patch()
    return new


def _show(new):
    """Makes a run, or None, the one that the module speaks of."""
    module = _sys.modules[__name__]
    module.run = new
    module.config = new.config if new is not None else _Unready("config")
    module.summary = new.summary if new is not None else _Unready("summary")


def _needed(what):
    if run is None:
        raise Error("You must call wandb.init() before wandb.%s()" % what)
    return run


def log(data, step=None, commit=None, sync=None, **ignored):
    _needed("log").log(data, step=step, commit=commit)


def finish(exit_code=None, quiet=None):
    if run is not None:
        run.finish(exit_code)


join = finish


def save(glob_str=None, base_path=None, policy="live"):
    return _needed("save").save(glob_str, base_path, policy)


def define_metric(name, **options):
    return _needed("define_metric").define_metric(name, **options)


def log_artifact(*arguments, **options):
    return _needed("log_artifact").log_artifact(*arguments, **options)


def use_artifact(*arguments, **options):
    return _needed("use_artifact").use_artifact(*arguments, **options)


def link_artifact(*arguments, **options):
    return None


def watch(models=None, *arguments, **options):
    return []


def unwatch(*arguments, **options):
    return None


def alert(title="", text="", *arguments, **options):
    _events.say("alert: %s %s" % (title, text))


def log_code(*arguments, **options):
    return None


def mark_preempting():
    return None


def restore(name, *arguments, **options):
    raise CommError("there is no W&B server here to restore %r from" % (name,))


def login(*arguments, **options):
    """There is no account to log in to: always done."""
    return True


def setup(*arguments, **options):
    return None


def teardown(exit_code=None):
    finish(exit_code)


def require(*arguments, **options):
    return None


def ensure_configured():
    return None


def termlog(string="", *arguments, **options):
    print("wandb: %s" % string, file=_sys.stderr)


termwarn = termerror = termlog


class AlertLevel:
    INFO, WARN, ERROR = "INFO", "WARN", "ERROR"


class Api:
    """Results are not on a server: every question says so."""

    def __init__(self, *arguments, **options):
        # Scripts write it before the name of a project or sweep.
        self.default_entity = _os.environ.get("WANDB_ENTITY") or "local"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def refuse(*arguments, **options):
            raise CommError(
                "wandb.Api().%s: there is no W&B server here; results answer to \"sweep export\" and \"sweep sql\"" % name
            )

        return refuse


def __getattr__(name):
    # Submodules and names that this stand-in does not have: nothing raises.
    if name.startswith("_"):
        raise AttributeError("module 'wandb' has no attribute %r" % name)
    import importlib

    try:
        return importlib.import_module("wandb." + name)
    except ImportError:
        pass
    _events.once("wandb.%s is left out: this stand-in does not have it" % name)
    return type(name, (_Media,), {})


@_atexit.register
def _leave():
    # A forked child has its parent's handlers, and no run to end.
    if run is not None and run._owner == _os.getpid():
        run._leave()
