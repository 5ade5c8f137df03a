"""Artifacts: files to keep, in the folder $SWEEP_ARTIFACTS of the trial."""

import json
import os
import re
import shutil
import tempfile

from . import _events
from ._media import folder
from .errors import CommError


class Artifact:
    """Files under one name. They are collected here and kept by log_artifact."""

    def __init__(self, name, type="", description=None, metadata=None, **ignored):
        self.name, self.type, self.description = name, type, description
        self.metadata = dict(metadata or {})
        self.version, self.aliases, self.id, self.digest = "v0", ["latest"], name, ""
        self._at = tempfile.mkdtemp(prefix="artifact-")

    def _path(self, name):
        path = os.path.normpath(os.path.join(self._at, name.lstrip("/")))
        if not path.startswith(self._at + os.sep):
            raise ValueError("%r is not within the artifact" % (name,))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def add_file(self, local_path, name=None, **ignored):
        shutil.copyfile(local_path, self._path(name or os.path.basename(local_path)))

    def add_dir(self, local_path, name=None, **ignored):
        shutil.copytree(local_path, self._path(os.path.join(name or "", "x"))[:-2], dirs_exist_ok=True)

    def add_reference(self, uri, name=None, **ignored):
        with open(self._path((name or re.sub(r"[^A-Za-z0-9._-]+", "_", str(uri))) + ".reference"), "w") as f:
            f.write(str(uri))

    def add(self, obj, name, **ignored):
        if getattr(obj, "_keep", lambda stem: None)(self._path(name)) is None:
            _events.once("artifact %s: %s is left out: only tables and files are kept" % (self.name, name))
        return obj

    def new_file(self, name, mode="w", encoding=None):
        return open(self._path(name), mode, encoding=encoding)

    def get_path(self, name):
        return _Entry(os.path.join(self._at, name))

    get_entry = get_path

    def get(self, name):
        return None

    def download(self, root=None, *arguments, **options):
        if root is None:
            return self._at
        shutil.copytree(self._at, root, dirs_exist_ok=True)
        return root

    checkout = download

    def file(self, root=None):
        files = self.files()
        return files[0].path if files else None

    def files(self, *arguments, **options):
        return [_Entry(os.path.join(at, name)) for at, _, names in os.walk(self._at) for name in names]

    def wait(self, *arguments, **options):
        return self

    def save(self, *arguments, **options):
        return None

    def is_draft(self):
        return False

    def link(self, *arguments, **options):
        return None

    def _log(self, aliases=None):
        into = folder()
        if into is None:
            return
        name = re.sub(r"[^A-Za-z0-9._-]+", "_", "%s-%s" % (self.type, self.name) if self.type else self.name)
        at = os.path.join(into, name)
        shutil.rmtree(at, ignore_errors=True)
        shutil.copytree(self._at, at)
        if self.metadata or self.description:
            with open(at + ".metadata.json", "w", encoding="utf-8") as f:
                json.dump({"description": self.description, "metadata": self.metadata}, f, default=str)


class _Entry:
    def __init__(self, path):
        self.path = self.name = path

    def download(self, root=None, *arguments, **options):
        if root is None:
            return self.path
        os.makedirs(root, exist_ok=True)
        return shutil.copy(self.path, root)


_known = {}


def log(artifact_or_path, name=None, type=None, aliases=None, **ignored):
    """Keeps an artifact, or the file or folder at a path."""
    artifact = artifact_or_path
    if not isinstance(artifact, Artifact):
        path = os.fspath(artifact_or_path)
        artifact = Artifact(name or os.path.basename(path.rstrip("/")), type or "file")
        if os.path.isdir(path):
            artifact.add_dir(path)
        else:
            artifact.add_file(path)
    artifact._log(aliases)
    _known[artifact.name] = artifact
    return artifact


def use(artifact_or_name, type=None, **ignored):
    """Returns an artifact of this process; there is no server to ask for others."""
    if isinstance(artifact_or_name, Artifact):
        return artifact_or_name
    known = _known.get(str(artifact_or_name).split("/")[-1].split(":")[0])
    if known is None:
        raise CommError(
            "artifact %s: there is no W&B server here; put its files where the script finds them, as under $SWEEP_DATA"
            % (artifact_or_name,)
        )
    return known
