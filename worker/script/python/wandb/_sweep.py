"""Sweeps made in Python: wandb.sweep writes a sweep file, wandb.agent has the
program sweep run it, on this machine and with its local database."""

import _thread
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import uuid

from . import _events
from .errors import Error, UsageError

# What the program was called with, before it changes that.
_arguments = list(sys.argv[1:])
# Held by the thread whose agent runs trials.
_agents = threading.Lock()


def _in_trial():
    return bool(os.environ.get("WANDB_SWEEP_ID") and os.environ.get("SWEEP_EVENTS"))


def _home():
    """Where the program sweep keeps everything local."""
    home = os.environ.get("SWEEP_HOME")
    if not home:
        data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
        home = os.path.join(data, "sweep")
    home = os.path.join(home, "python")
    os.makedirs(home, exist_ok=True)
    return home


def _path(sweep_id):
    name = str(sweep_id).split("/")[-1]
    if not name.replace("-", "").isalnum():
        raise UsageError("%r is no sweep's id" % (sweep_id,))
    return os.path.join(_home(), name + ".json")


def _write(path, record):
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(record, f)
    os.replace(path + ".new", path)


def sweep(sweep, entity=None, project=None, prior_runs=None, settings=None, **ignored):
    """Keeps a sweep's definition and returns its id, for agent here or elsewhere."""
    for name in ignored:
        _events.once("wandb.sweep: %s= has no effect here" % name)
    if prior_runs:
        _events.once("wandb.sweep: prior_runs= has no effect here: results of equal trials are reused by themselves")
    setting = (settings.get if isinstance(settings, dict) else lambda name: getattr(settings, name, None))
    project, entity = project or setting("project"), entity or setting("entity")
    if _in_trial():
        return os.environ["WANDB_SWEEP_ID"]
    if callable(sweep):
        sweep = sweep()
    if not hasattr(sweep, "items"):
        raise UsageError("a sweep is a mapping of the keys of a sweep file, not %s" % type(sweep).__name__)
    definition = _plain(sweep)
    if project:
        definition.setdefault("project", project)
    if entity:
        definition.setdefault("entity", entity)
    sweep_id = keep(definition=definition)
    print("Create sweep with ID: %s" % sweep_id)
    print("Results, once wandb.agent runs it: sweep trials %s" % sweep_id)
    return sweep_id


def keep(**record):
    """Keeps a sweep for agents: its definition, or the file that has it."""
    sweep_id = uuid.uuid4().hex[:8]
    _write(_path(sweep_id), dict(record, taken=0))
    return sweep_id


def _definition(record):
    """The keys of a sweep's file."""
    if "definition" in record:
        return dict(record["definition"])
    with open(record["file"], encoding="utf-8") as f:
        text = f.read()
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        import yaml
    except ImportError:
        raise UsageError("%s: wandb.agent needs the package yaml for a function of a sweep that a file defines; or "
                         "pass the mapping to wandb.sweep" % record["file"]) from None
    return yaml.safe_load(text)


def _plain(value):
    """A definition as JSON has it: numpy's numbers and tuples are numbers and lists."""
    if hasattr(value, "items"):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, range)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    number = _events.number(value)
    return str(value) if number is None else number


def controller(*arguments, **options):
    raise UsageError("wandb.controller: the program sweep chooses the points; wandb.agent runs them")


def agent(sweep_id, function=None, entity=None, project=None, count=None, **ignored):
    """Runs the trials of a sweep, one after another: function in this process, or
    the sweep's program in processes of its own."""
    if _in_trial():
        # This process is a trial: what its sweep is made of is decided already.
        if function is not None:
            function()
        return
    for name in ignored:
        _events.once("wandb.agent: %s= has no effect here" % name)
    path = _path(sweep_id)
    if not os.path.exists(path):
        raise UsageError("there is no sweep %s here: wandb.sweep makes one" % (sweep_id,))
    with _only_agent():
        _run_sweep(path, function, count)


@contextlib.contextmanager
def _only_agent():
    """Waits for agents of other threads and processes: one at a time runs trials with the local database."""
    import fcntl

    waits = "wandb.agent: another agent runs trials on this machine; this one follows it"
    if not _agents.acquire(blocking=False):
        _events.say(waits)
        _agents.acquire()
    try:
        # A lock that forked children of the trials do not inherit.
        with open(os.path.join(_home(), "agent.lock"), "w") as lock:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                _events.say(waits)
                fcntl.lockf(lock, fcntl.LOCK_EX)
            yield
    finally:
        _agents.release()


def _run_sweep(path, function, count):
    """Runs the sweep's trials. The caller is the only agent."""
    with open(path, encoding="utf-8") as f:
        record = json.load(f)
    number = os.path.basename(path)[: -len(".json")]
    given = os.environ.get("SWEEP_AGENT_COUNT")
    if given:
        if count is not None and int(count) != int(given):
            _events.say("wandb.agent: count=%s is overridden by --count %s" % (count, given))
        count = given
    if os.environ.get("SWEEP_AGENT_RAN"):
        open(os.environ["SWEEP_AGENT_RAN"], "w").close()
    definition = {}
    if function is not None or "file" not in record:
        definition = _definition(record)
        definition.setdefault("name", "python-" + number)
    if function is not None:
        if definition.get("directory") == "own":
            raise UsageError("directory: own needs the program of the sweep: wandb.agent without function=. A function "
                             "runs in this process, one trial at a time")
        main = getattr(sys.modules.get("__main__"), "__file__", None)
        definition["command"] = [sys.executable, "-m", "wandb._relay"]
        definition.pop("program", None)
        if main and os.path.isfile(main):
            definition["program"] = os.path.abspath(main)
            if _arguments:
                # They decide about results. One word of JSON is neither a file's name nor a macro.
                definition["command"].append(json.dumps(_arguments).replace("$", "\\u0024"))
    folder = tempfile.mkdtemp(prefix="wandb-agent-")
    try:
        file = os.path.join(folder, "sweep.json")
        if definition:
            with open(file, "w", encoding="utf-8") as f:
                json.dump(definition, f)
        else:
            file = record["file"]
        command = [_program(), "run", file, "--slots", "1"]
        if os.environ.get("SWEEP_AGENT_METHOD"):
            command += ["--method", os.environ["SWEEP_AGENT_METHOD"]]
        if count is not None:
            # Points are numbered: those that earlier agents took are there already.
            command += ["--count", str(record["taken"] + int(count))]
        code = _serve(command, folder, function, number)
        if count is not None:
            _write(path, dict(record, taken=record["taken"] + int(count)))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if code == 130 or code < 0:
        raise KeyboardInterrupt
    if code not in (0, 3, 6):  # some trials failed, or they have paused the sweep, as sweep has said
        raise Error("sweep run ended with exit code %d: see above" % code)


def _program():
    program = os.environ.get("SWEEP_PROGRAM") or shutil.which("sweep")
    if not program:
        raise UsageError("the program sweep is not in PATH: SWEEP_PROGRAM says where it is")
    return program


def _serve(command, folder, function, number):
    """Has sweep run its trials, and runs function for each, until sweep ends."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        address = os.path.join(folder, "agent")
        listener.bind(address)
        listener.listen(8)
        listener.settimeout(0.2)
        environment = dict(os.environ, WANDB_AGENT_SOCKET=address, SWEEP_AGENT=number)
        running = subprocess.Popen(command, env=environment, stdout=sys.stderr.fileno())
        try:
            while running.poll() is None:
                try:
                    connection, _ = listener.accept()
                except socket.timeout:
                    continue
                with connection:
                    _trial(connection, function)
        except BaseException:
            running.terminate()
            running.wait()
            raise
        return running.returncode
    finally:
        listener.close()


def _trial(connection, function):
    """Runs function as one trial, whose process waits at the other end."""
    import wandb

    connection.settimeout(None)
    with connection.makefile("r", encoding="utf-8") as lines:
        line = lines.readline()
    if not line:
        return
    before = dict(os.environ)
    os.environ.update(json.loads(line))
    state = {"over": False, "cancelled": False}

    def watch():
        # The process at the other end is gone before its answer: a cancelled trial.
        try:
            lost = not connection.recv(1)
        except OSError:
            lost = True
        if lost and not state["over"]:
            state["cancelled"] = True
            _thread.interrupt_main()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    inputs = sys.modules.get("_sweep_inputs")
    if inputs is not None:
        inputs.begin_trial()
    code, text = 0, ""
    try:
        try:
            function()
        finally:
            state["over"] = True
    except KeyboardInterrupt:
        if not state["cancelled"]:
            raise
        code = 1
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:
        code, text = 1, traceback.format_exc()
        print(text, file=sys.stderr)
    finally:
        wandb.finish()
        if inputs is not None:
            inputs.end_trial()
        os.environ.clear()
        os.environ.update(before)
    try:
        connection.sendall((json.dumps({"exit": code, "text": text[-16000:]}) + "\n").encode("utf-8"))
    except OSError:
        pass  # nobody waits any more
    watcher.join(2)
