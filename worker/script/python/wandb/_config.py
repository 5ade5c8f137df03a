"""wandb.config: the sweep's values, which are locked, over what the script says."""

import collections.abc
import json
import os

from . import _events
from .errors import Error


class _Unready:
    """config and summary before init."""

    def __init__(self, name):
        object.__setattr__(self, "_name", name)

    def _refuse(self):
        raise Error("You must call wandb.init() before wandb.%s" % self._name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __setattr__(self, name, value):
        self._refuse()

    def __getitem__(self, name):
        self._refuse()

    def __setitem__(self, name, value):
        self._refuse()

    def __iter__(self):
        self._refuse()

    def keys(self):
        self._refuse()


class Config(collections.abc.MutableMapping):
    """A mapping with attributes. Names that begin with _ are found but not listed."""

    def __init__(self, swept=None):
        object.__setattr__(self, "_items", {})
        object.__setattr__(self, "_locked", set())
        # Whether something has changed since it was kept.
        object.__setattr__(self, "_changed", False)
        for name, value in (swept or {}).items():
            self._items[name] = value
            self._locked.add(name)

    def _merge(self, given, exclude=None, include=None):
        """Adds what init was given below the sweep's values."""
        for name, value in _mapping(given).items():
            if exclude and name in exclude or include and name not in include:
                continue
            object.__setattr__(self, "_changed", True)
            if name in self._locked:
                self._items[name] = _beneath(self._items[name], value)
            else:
                self._items[name] = value

    def _set(self, name, value):
        name = str(name)
        if name in self._locked:
            if self._items[name] != value:
                _events.once("config.%s is the sweep's and stays %r" % (name, self._items[name]))
            return
        object.__setattr__(self, "_changed", True)
        self._items[name] = value

    def __getitem__(self, name):
        return self._items[name]

    def __setitem__(self, name, value):
        self._set(name, value)

    def __delitem__(self, name):
        if name in self._locked:
            _events.once("config.%s is the sweep's and stays" % name)
            return
        object.__setattr__(self, "_changed", True)
        del self._items[name]

    def __getattr__(self, name):
        try:
            return self._items[name]
        except KeyError:
            raise AttributeError("%r object has no attribute %r" % (type(self), name)) from None

    def __setattr__(self, name, value):
        self._set(name, value)

    def __delattr__(self, name):
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __contains__(self, name):
        return name in self._items

    def __iter__(self):
        return iter([name for name in self._items if not str(name).startswith("_")])

    def __len__(self):
        return sum(1 for _ in self)

    def keys(self):
        return list(self)

    def values(self):
        return [self._items[name] for name in self]

    def items(self):
        return [(name, self._items[name]) for name in self]

    def get(self, name, default=None):
        return self._items.get(name, default)

    def update(self, given=None, allow_val_change=None, **more):
        for name, value in dict(_mapping(given), **more).items():
            self._set(name, value)

    def setdefaults(self, given):
        for name, value in _mapping(given).items():
            self._items.setdefault(name, value)

    def persist(self):
        """W&B writes a file here; the sweep has its values already."""

    def as_dict(self):
        return dict(self.items())

    def __repr__(self):
        return repr(self.as_dict())

    __str__ = __repr__

    def __copy__(self):
        return self

    def __deepcopy__(self, memory):
        import copy

        return _restore(copy.deepcopy(self._items, memory), set(self._locked))

    def __reduce__(self):
        return _restore, (dict(self._items), set(self._locked))


def _restore(items, locked):
    config = Config()
    config._items.update(items)
    config._locked.update(locked)
    return config


def _beneath(above, below):
    """Merges nested mappings; what is above wins."""
    if isinstance(above, dict) and isinstance(below, collections.abc.Mapping):
        merged = dict(below)
        for name, value in above.items():
            merged[name] = _beneath(value, below[name]) if name in below else value
        return merged
    return above


def _mapping(given):
    """What scripts pass as config: a mapping, a namespace, a file's path, nothing."""
    if given is None:
        return {}
    if isinstance(given, str):
        return _file(given)
    if isinstance(given, os.PathLike):
        return _file(os.fspath(given))
    if hasattr(given, "items"):
        return {str(name): value for name, value in given.items()}
    if hasattr(given, "flag_values_dict"):  # absl
        return given.flag_values_dict()
    if hasattr(given, "__dict__"):
        return {name: value for name, value in vars(given).items() if not callable(value)}
    raise Error("config must be a mapping, a namespace or a file, not %s" % type(given).__name__)


def _file(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    try:
        content = json.loads(text)
    except ValueError:
        try:
            import yaml
        except ImportError:
            content = _simple(text, path)
        else:
            content = yaml.safe_load(text)
    content = content or {}
    # W&B's form has a description beside each value.
    return {
        name: entry["value"] if isinstance(entry, dict) and "value" in entry else entry
        for name, entry in content.items()
        if name != "wandb_version"
    }


def _simple(text, path):
    """Reads the YAML of W&B's config files where the package yaml is missing: names with
    values, or with indented names with values."""
    content, inner = {}, None
    for line in text.splitlines():
        bare = line.split(" #")[0].rstrip()
        name, colon, value = bare.strip().partition(":")
        if not bare.strip() or bare.lstrip().startswith("#") or bare.strip() == "---":
            continue
        if not colon:
            raise Error("config %s: %r cannot be read without the package yaml" % (path, line))
        if bare[0] not in " \t":
            inner = content[name] = {} if not value.strip() else _scalar(value.strip())
        elif isinstance(inner, dict):
            inner[name] = _scalar(value.strip())
        else:
            raise Error("config %s: %r cannot be read without the package yaml" % (path, line))
    return content


def _scalar(word):
    plain = {"true": True, "false": False, "yes": True, "no": False, "on": True, "off": False, "null": None, "~": None, "": None}
    if word.lower() in plain:
        return plain[word.lower()]
    for kind in (int, float, json.loads):
        try:
            return kind(word)
        except ValueError:
            pass
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] == "'" else word


def swept():
    """The sweep's values for this trial."""
    path = os.environ.get("WANDB_SWEEP_PARAM_PATH")
    return _file(path) if path else {}
