"""Objects that scripts log beside numbers. What has a file, or is a table, is kept
as an artifact; of the others the trial's log says once that they were left out."""

import json
import os
import re
import shutil

from . import _events


class _Anything(type):
    """A class whose every attribute is there."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Media()


class _Media(metaclass=_Anything):
    """Takes whatever it is made of."""

    def __init__(self, *arguments, **options):
        self._arguments, self._options = arguments, options

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Media()

    def __call__(self, *arguments, **options):
        return _Media(*arguments, **options)

    def _keep(self, stem):
        """Writes the object to a file with this stem, if it can; True if it did."""
        source = self._arguments[0] if self._arguments else self._options.get("data_or_path")
        if isinstance(source, (str, os.PathLike)) and os.path.isfile(source):
            shutil.copyfile(source, stem + os.path.splitext(os.fspath(source))[1])
            return True
        if isinstance(source, _Media):
            return source._keep(stem)
        # matplotlib's figures, and the module that has a current one; plotly's figures.
        for name, suffix in (("savefig", ".png"), ("write_html", ".html")):
            method = getattr(source, name, None)
            if callable(method):
                method(stem + suffix)
                return True
        if isinstance(self, Image) and hasattr(source, "shape"):
            source = _picture(source)
        if hasattr(source, "save") and hasattr(source, "mode") and hasattr(source, "size"):  # Pillow's
            source.save(stem + ".png")
            return True
        return False


class Image(_Media):
    """An image: of a file, of Pillow, of matplotlib or of an array it is kept."""


def _picture(array):
    """Pillow's image of an array of rows and columns, and channels last or, as torch
    has them, first; numbers up to 1 are shares of the brightest."""
    import numpy
    from PIL import Image as pillow

    for name in ("detach", "cpu", "numpy"):
        array = getattr(array, name, lambda: array)()
    array = numpy.squeeze(numpy.asarray(array))
    if array.ndim == 3 and array.shape[0] in (3, 4) and array.shape[2] not in (3, 4):
        array = numpy.moveaxis(array, 0, -1)
    if array.dtype != numpy.uint8:
        array = array.astype("float64")
        if array.size and array.max() <= 1:
            array = array * 255
        array = numpy.clip(array, 0, 255).astype("uint8")
    return pillow.fromarray(array)


class Audio(_Media):
    """Kept if it is a file."""


class Video(_Media):
    """Kept if it is a file."""


class Html(_Media):
    """A page, as text or as a file."""

    def _keep(self, stem):
        if super()._keep(stem):
            return True
        text = self._arguments[0] if self._arguments else ""
        if isinstance(text, str):
            with open(stem + ".html", "w", encoding="utf-8") as f:
                f.write(text)
            return True
        return False


class Object3D(_Media):
    """Kept if it is a file."""


class Molecule(_Media):
    """Kept if it is a file."""


class Plotly(_Media):
    """Kept as a page."""


class Graph(_Media):
    """Left out."""


class Box3D(_Media):
    """Left out."""


class JoinedTable(_Media):
    """Left out."""


class Histogram(_Media):
    """Left out: a curve has numbers."""


class Table(_Media):
    """Rows and columns, kept as JSON."""

    def __init__(self, columns=None, data=None, rows=None, dataframe=None, **options):
        super().__init__()
        if dataframe is None and hasattr(data, "columns") and hasattr(data, "values"):
            dataframe, data = data, None
        if dataframe is not None:
            columns, data = list(dataframe.columns), [list(row) for row in dataframe.values]
        data = data if data is not None else rows
        self.data = [list(row) for row in data] if data is not None else []
        self.columns = list(columns) if columns is not None else []

    def add_data(self, *row):
        self.data.append(list(row))

    add_row = add_data

    def add_column(self, name, data, optional=False):
        self.columns.append(name)
        data = list(data)
        while len(self.data) < len(data):
            self.data.append([None] * (len(self.columns) - 1))
        for row, value in zip(self.data, data):
            row.append(value)

    def get_column(self, name, convert_to=None):
        at = self.columns.index(name)
        return [row[at] for row in self.data]

    def get_dataframe(self):
        import pandas

        return pandas.DataFrame.from_records(self.data, columns=self.columns)

    def iterrows(self):
        return enumerate(self.data)

    def _keep(self, stem):
        def plain(value):
            n = _events.number(value)
            return n if n is not None else str(value)

        with open(stem + ".table.json", "w", encoding="utf-8") as f:
            json.dump({"columns": [str(c) for c in self.columns], "data": self.data}, f, default=plain)
        return True


def folder():
    """The trial's folder for files to keep, None outside of trials."""
    return os.environ.get("SWEEP_ARTIFACTS") or None


def keep(name, value):
    """Keeps an object that was logged; its newest form replaces older ones."""
    into = folder()
    kind = type(value).__name__
    if not isinstance(value, _Media) and (callable(getattr(value, "savefig", None)) or callable(getattr(value, "write_html", None))):
        value = Image(value)
    if into is not None and isinstance(value, _Media):
        into = os.path.join(into, "media")
        try:
            os.makedirs(into, exist_ok=True)
            if value._keep(os.path.join(into, re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:150])):
                return
        except Exception as problem:
            _events.once("%s: its %s is left out: %s" % (name, kind, problem))
            return
        try:
            os.rmdir(into)  # if nothing was kept
        except OSError:
            pass
    _events.once("%s: its %s is no number and is left out" % (name, kind))
