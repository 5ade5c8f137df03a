"""Records what this process reads, as it happens: a line for each file, module
and variable, appended to the file that SWEEP_INPUTS names. Nothing here may fail
or be slow: it runs inside whatever the program does."""

import os
import sys
import time

_open, _write, _close, _stat, _abspath, _fsdecode, _getpid, _getcwd = (
    os.open, os.write, os.close, os.stat, os.path.abspath, os.fsdecode, os.getpid, os.getcwd)
_APPEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
_ANEW = os.O_TRUNC | os.O_APPEND | os.O_EXCL
_now = time.time_ns
_MOST = 10000  # lines of a process


class _State:
    file = None  # where lines go
    kept = None  # the lines so far, for trials that begin later in this process
    lines = 0
    last = None  # the variable that an iteration over the environment has reached
    frame = None  # where that iteration is
    folders = []  # those of the start-up modules that have run


_seen, _back = set(), set()
_written = {}  # how, by path: W anew, L shared on purpose, as logs and databases are
_paths = {}  # absolute paths by relative ones and the working directory
# Modules through whose functions programs look variables up.
_between = frozenset(("os", "_collections_abc", "collections.abc", "posixpath", "pathlib", "pathlib._local",
                      __name__))


def _prefixes():
    folders = {os.path.dirname(_abspath(os.__file__)), os.path.dirname(_abspath(__file__)), "/proc", "/sys"}
    for name in ("prefix", "base_prefix", "exec_prefix", "base_exec_prefix"):
        folder = _abspath(getattr(sys, name, "/usr"))
        if folder not in ("/", "/usr", "/usr/local"):
            folders.add(folder)
    return tuple(folder + "/" for folder in folders) + _DEVICES


# /dev/shm is for files.
_DEVICES = ("/dev/fd/", "/dev/full", "/dev/null", "/dev/pts/", "/dev/random", "/dev/std", "/dev/tty", "/dev/urandom",
            "/dev/zero")
_foreign_folders = _prefixes()


def _foreign(path):
    """Whether a path is Python's own or an installed package's."""
    return path.startswith(_foreign_folders) or "/site-packages/" in path or "/dist-packages/" in path


def _say(kind, text):
    state = _State
    state.lines += 1
    if state.lines > _MOST:
        if state.lines > _MOST + 1:
            return
        kind, text = "X", "more files"
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    line = (kind + " " + text + "\n").encode("utf-8", "surrogateescape")
    if state.kept is not None:
        state.kept.append(line)
    if state.file:
        _append(state.file, line)


def _append(path, line, make=0):
    # It is opened each time: a program may close or use any descriptor.
    fd = _open(path, _APPEND | make, 0o600)
    try:
        _write(fd, line)
    finally:
        _close(fd)


def _text(path):
    if path.__class__ is str:
        return path
    if isinstance(path, (bytes, os.PathLike)):
        return _fsdecode(path)
    return path if isinstance(path, str) else None


def _read(path, certain=True):
    """Notes that a file is read, before that happens; without certain the path may be below another folder."""
    if path in _written:
        if path not in _back and path not in _seen and not _foreign(path):
            _back.add(path)
            _say("O", path)
        return
    if path in _seen:
        return
    _seen.add(path)
    if _foreign(path):
        return
    if "/__pycache__/" in path:
        # The compiled form of a module, which is read if it is as new as the source.
        folder, _, name = path.rpartition("/__pycache__/")
        source = folder + "/" + name.partition(".")[0] + ".py"
        if name.endswith(".pyc") and source not in _seen:
            _read(source)
        return
    try:
        info = _stat(path)
    except FileNotFoundError:
        if certain:
            _say("A", path)
        return
    except OSError:
        return
    if info.st_mode & 0o170000 == 0o100000:
        _say("R", "%d %d %s" % (info.st_size, info.st_mtime_ns, path))


def _write_to(path, kind="W"):
    if path not in _written or kind == "W" and _written[path] != "W":
        _written[path] = kind
        if not _foreign(path) and "/__pycache__/" not in path:
            _say(kind, "%d %s%s" % (_now(), _before(path) if kind == "L" else "", path))


def _before(path):
    """The size and time of a file that is about to be appended to: -1 if there is none, -2 if it is no regular file."""
    try:
        info = _stat(path)
    except FileNotFoundError:
        return "-1 0 "
    except OSError:
        return "-2 0 "
    return "%d %d " % (info.st_size if info.st_mode & 0o170000 == 0o100000 else -2, info.st_mtime_ns)


def _on_open(path, mode, flags):
    access = flags & 3
    if not access and path in _seen or path.__class__ is int or path == _State.file:
        return
    name = _text(path)
    if name is None:
        return
    if name[:1] == "/":
        path = _abspath(name)
    else:
        key = (name, _getcwd())
        path = _paths.get(key)
        if path is None:
            path = _paths[key] = _abspath(name)
            if len(_paths) > _MOST:
                _paths.clear()
    if access == 0 or access == 2 and not flags & _ANEW:
        # os.open has no mode, and may have a folder in dir_fd.
        _read(path, mode is not None or name[:1] == "/")
    if access:
        _write_to(path, "L" if flags & os.O_APPEND else "W")
        if access == 2 and flags & os.O_APPEND:  # a+
            _read(path)


def _on_import(module, file, *rest):
    if file:
        _read(_abspath(file))


def _on_library(name):
    name = name and _text(name)
    if name and "/" in name:
        _read(_abspath(name))


def _on_database(name):
    name = _text(name)
    if name and name[:1] != ":" and not name.startswith("file:"):
        path = _abspath(name)
        _read(path)
        _write_to(path, "L")


def _on_rename(source, target, *rest):
    target = _text(target)
    if target:
        _write_to(_abspath(target))


def _on_truncate(path, *rest):
    path = _text(path)
    if path:
        _write_to(_abspath(path))


_interpreters = frozenset(("sh", "bash", "zsh", "dash", "ksh", "node", "Rscript", "R", "julia", "perl", "ruby", "lua",
                           "php", "java", "make"))


def _on_start(executable, arguments, folder=None, *rest):
    if isinstance(arguments, (str, bytes)):
        arguments = [arguments]
    words = [_text(word) for word in arguments or ()]
    if executable:
        words.insert(0, _text(executable))
    words = [part for word in words if word for part in (word.split() if " " in word else (word,))]
    folder = _text(folder) if folder else ""
    python, own, interpreter = False, "", False
    for number, word in enumerate(words):
        base = word.rpartition("/")[2]
        first = number == 0 or number == 1 and word == words[0]  # the program itself, which may come twice
        python = python or number < 6 and base.startswith("python") or first and base.endswith(".py")
        interpreter = interpreter or number < 2 and base in _interpreters
        path = _abspath(os.path.join(folder, word) if folder else word)
        if _foreign(path) or path.startswith(("/bin/", "/usr/", "/sbin/", "/opt/")) or not os.path.isfile(path):
            continue
        if not own and (interpreter or first):
            own = base
        if path not in _seen and path not in _written:
            info = _stat(path)
            _say("M", "%d %d %s" % (info.st_size, info.st_mtime_ns, path))
    if python:
        _say("C", "")
    elif own:
        _say("X", own)


_handlers = {
    "open": _on_open,
    "import": _on_import,
    "ctypes.dlopen": _on_library,
    "sqlite3.connect": _on_database,
    "os.rename": _on_rename,
    "os.link": _on_rename,
    "os.symlink": _on_rename,
    "os.truncate": _on_truncate,
    "subprocess.Popen": _on_start,
    "os.exec": lambda path, arguments, *rest: _on_start(path, arguments),
    "os.posix_spawn": lambda path, arguments, *rest: _on_start(path, arguments),
    "os.system": lambda command: _on_start(None, command),
}


def _hook(event, arguments, _handler=_handlers.get):
    handle = _handler(event)
    if handle is not None:
        try:
            handle(*arguments)
        except Exception:
            pass


def _caller(frame):
    while frame is not None and frame.f_globals.get("__name__") in _between:
        frame = frame.f_back
    return frame


def _looked_up(name, frame):
    frame = _caller(frame)
    if frame is None:
        return
    if _State.frame == (id(frame), frame.f_lasti):
        return  # a copy of all
    code = frame.f_code.co_filename
    if code.startswith("<frozen") or _foreign(code):
        return
    if _State.last == name:
        _State.last = None
        return  # the one that an iteration has reached
    name = _text(name)
    if name is not None and "v" + name not in _seen:
        _seen.add("v" + name)
        _say("E", name)


def _watch_environment():
    kind = type(os.environ)
    item, walk = kind.__getitem__, kind.__iter__

    def __getitem__(self, key, _frame=sys._getframe):
        try:
            _looked_up(key, _frame(1))
        except Exception:
            pass
        return item(self, key)

    def __iter__(self, _frame=sys._getframe):
        try:
            frame = _caller(_frame(1))
            place = frame and (id(frame), frame.f_lasti)
        except Exception:
            place = None
        try:
            for key in walk(self):
                _State.frame, _State.last = place, key
                yield key
        finally:
            _State.last = None

    kind.__getitem__, kind.__iter__ = __getitem__, __iter__


def begin():
    """Begins to record, in the process of a trial or of an agent that will run some."""
    if _State.folders:
        return  # this is the second of two start-up modules
    get = os.environ.get
    _State.file = get("SWEEP_INPUTS")
    if get("SWEEP_AGENT_RAN"):
        _State.kept = []
    elif not _State.file:
        return
    if not hasattr(sys, "addaudithook"):
        return
    sys.addaudithook(_hook)
    _watch_environment()
    if _State.file:
        _append(_State.file, ("B %d\n" % _getpid()).encode(), os.O_CREAT)


def begin_trial():
    """Has an agent's process report for the trial whose environment it has taken, all from the beginning."""
    _State.file = os.environ.get("SWEEP_INPUTS")
    if _State.file and _State.kept is not None:
        _append(_State.file, b"".join([("B %d\n" % _getpid()).encode()] + _State.kept), os.O_CREAT)


def end_trial():
    _State.file = None


def chain(folder):
    """Runs the start-up module that the one in a folder hides, as the module of its name. In a trial of an agent
    that is the agent's, a copy of this one, which hides the user's."""
    _State.folders.append(folder)
    paths = [path for path in sys.path if path not in _State.folders]
    import _frozen_importlib
    import _frozen_importlib_external

    spec = _frozen_importlib_external.PathFinder.find_spec("sitecustomize", paths)
    if spec is not None and spec.loader is not None:
        module = _frozen_importlib.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
