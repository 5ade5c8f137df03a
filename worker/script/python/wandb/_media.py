"""Objects that scripts log beside numbers. They are kept as files in the folder media of the
trial's artifacts, and its index.json lists them; the trial's log names once what is left out."""

import json
import math
import os
import re
import shutil
import struct
import wave
import zlib

from . import _events

# The most rows of a table, and files of one name that is logged as a list.
_ROWS, _LIST = 10000, 8
# The longest text that is kept, in characters.
_TEXT = 100000


class _Anything(type):
    """A class whose every attribute is there."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Media()


class _Media(metaclass=_Anything):
    """Takes whatever it is made of."""

    _kind = "file"

    def __init__(self, *arguments, **options):
        self._arguments, self._options = arguments, options

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Media()

    def __call__(self, *arguments, **options):
        return _Media(*arguments, **options)

    def _source(self):
        return self._arguments[0] if self._arguments else self._options.get("data_or_path")

    def _about(self):
        """What the index says of the object besides its name and file."""
        caption = self._options.get("caption")
        return {"caption": str(caption)} if caption is not None else {}

    def _keep(self, stem):
        """Writes the object to a file with this stem; returns its path, None if it cannot."""
        source = self._source()
        if isinstance(source, (str, os.PathLike)) and os.path.isfile(source):
            path = stem + os.path.splitext(os.fspath(source))[1].lower()
            shutil.copyfile(source, path)
            return path
        if isinstance(source, _Media):
            return source._keep(stem)
        # matplotlib's figures, and the module that has a current one; plotly's figures.
        for name, suffix in (("savefig", ".png"), ("write_html", ".html")):
            method = getattr(source, name, None)
            if callable(method):
                method(stem + suffix)
                return stem + suffix
        return None


class Image(_Media):
    """An image: of a file, of Pillow, of matplotlib, or of an array."""

    _kind = "image"

    def _keep(self, stem):
        path = super()._keep(stem)
        if path is not None:
            return path
        source = self._source()
        if hasattr(source, "figure") and hasattr(source.figure, "savefig"):  # matplotlib's axes
            return Image(source.figure)._keep(stem)
        if hasattr(source, "save") and hasattr(source, "mode") and hasattr(source, "size"):  # Pillow's
            source.save(stem + ".png")
            return stem + ".png"
        if hasattr(source, "shape") or isinstance(source, (list, tuple)):
            data = _png(source)
            with open(stem + ".png", "wb") as f:
                f.write(data)
            return stem + ".png"
        return None


def _png(array):
    """The PNG of an array of rows and columns, and channels last or, as torch has them, first;
    floating-point numbers up to 1 are shares of the brightest."""
    import numpy

    for name in ("detach", "cpu", "numpy"):
        array = getattr(array, name, lambda: array)()
    array = numpy.asarray(array)
    if array.ndim == 4:
        array = _tiled(array)
    array = numpy.squeeze(array)
    if array.ndim == 3 and array.shape[0] in (3, 4) and array.shape[2] not in (3, 4):
        array = numpy.moveaxis(array, 0, -1)
    colours = {(2, 1): 0, (3, 3): 2, (3, 4): 6}.get((array.ndim, array.shape[2] if array.ndim == 3 else 1))
    if colours is None:
        raise ValueError("an array of shape %s is no image" % (array.shape,))
    if array.dtype != numpy.uint8:
        whole = array.dtype.kind in "iu"
        array = numpy.nan_to_num(array.astype("float64"))
        if array.size and not whole and array.max() <= 1:
            array = array * 255
        array = numpy.clip(array, 0, 255).astype("uint8")
    rows = b"".join(b"\0" + row.tobytes() for row in numpy.ascontiguousarray(array))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], 8, colours, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _tiled(images):
    """Images, channels last or first, side by side in rows of eight."""
    import numpy

    if images.shape[3] not in (1, 3, 4):
        images = numpy.moveaxis(images, 1, -1)
    columns = min(len(images), 8)
    rows = -(-len(images) // columns)
    blank = numpy.zeros((rows * columns - len(images),) + images.shape[1:], images.dtype)
    _, height, width, channels = images.shape
    grid = numpy.concatenate([images, blank]).reshape(rows, columns, height, width, channels)
    return grid.swapaxes(1, 2).reshape(rows * height, columns * width, channels)


class Audio(_Media):
    """Sound: of a file, or of samples between -1 and 1, one or several channels last."""

    _kind = "audio"

    def _keep(self, stem):
        path = super()._keep(stem)
        if path is not None:
            return path
        rate = self._options.get("sample_rate") or (self._arguments[1] if len(self._arguments) > 1 else None)
        frames = _listed(self._source())
        if not frames or not rate:
            return None
        frames = [frame if isinstance(frame, list) else [frame] for frame in frames]
        whole = all(isinstance(sample, int) for frame in frames for sample in frame)
        with wave.open(stem + ".wav", "wb") as out:
            out.setnchannels(len(frames[0]))
            out.setsampwidth(2)
            out.setframerate(int(rate))
            scale = 1 if whole else 32767
            out.writeframes(b"".join(
                struct.pack("<h", max(-32768, min(32767, int(sample * scale)))) for frame in frames for sample in frame
            ))
        return stem + ".wav"


class Video(_Media):
    """A film, kept if it is a file."""

    _kind = "video"


class Html(_Media):
    """A page, as text or as a file."""

    _kind = "html"

    def _keep(self, stem):
        path = super()._keep(stem)
        text = self._arguments[0] if self._arguments else self._options.get("data", "")
        if path is None and hasattr(text, "read"):
            text = text.read()
        if path is None and isinstance(text, str):
            path = stem + ".html"
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        return path


class _Text(_Media):
    """A text that is logged as it is."""

    _kind = "text"

    def _keep(self, stem):
        with open(stem + ".txt", "w", encoding="utf-8", errors="replace") as f:
            f.write(self._arguments[0][:_TEXT])
        return stem + ".txt"


class Object3D(_Media):
    """Kept if it is a file."""


class Molecule(_Media):
    """Kept if it is a file."""


class Plotly(_Media):
    """Kept as a page."""

    _kind = "html"


class Graph(_Media):
    """Left out."""


class Box3D(_Media):
    """Left out."""


class JoinedTable(_Media):
    """Left out."""


def _listed(values):
    """An array as lists of numbers, whoever made it; None if it is none."""
    for name in ("detach", "cpu", "tolist"):
        values = getattr(values, name, lambda: values)()
    return list(values) if isinstance(values, (list, tuple, range, set)) else None


def _flattened(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flattened(value)
        else:
            n = _events.number(value)
            if n is not None and math.isfinite(n):
                yield n


class Histogram(_Media):
    """Counts of values between the edges of bins: of a sequence, or of numpy.histogram's answer."""

    _kind = "histogram"

    def __init__(self, sequence=None, np_histogram=None, num_bins=64, **options):
        super().__init__(**options)
        if np_histogram is not None:
            self.histogram, self.bins = (list(_flattened(_listed(part) or [])) for part in np_histogram)
            return
        values = list(_flattened(_listed(sequence) or []))
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5
        width = (high - low) / num_bins
        self.bins = [low + i * width for i in range(num_bins)] + [high]
        self.histogram = [0] * num_bins
        for value in values:
            self.histogram[min(int((value - low) / width), num_bins - 1)] += 1

    def _keep(self, stem):
        return _dump(stem + ".histogram.json", {"edges": self.bins, "counts": self.histogram})


class Table(_Media):
    """Rows and columns."""

    _kind = "table"

    def __init__(self, columns=None, data=None, rows=None, dataframe=None, **options):
        super().__init__(**options)
        if dataframe is None and hasattr(data, "columns") and hasattr(data, "values"):
            dataframe, data = data, None
        if dataframe is not None:
            columns, data = list(dataframe.columns), [list(row) for row in dataframe.values]
        data = data if data is not None else rows
        self.data = [list(row) for row in data] if data is not None else []
        self.columns = list(columns) if columns is not None else ["Input", "Output", "Expected"]
        # What a plot draws of the table.
        self._plot = None

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
        table = {"columns": [str(c) for c in self.columns], "data": self.data[:_ROWS]}
        if len(self.data) > _ROWS:
            table["left_out"] = len(self.data) - _ROWS
        if self._plot:
            table["plot"] = self._plot
        return _dump(stem + ".table.json", table)


def _dump(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(_plain(value), f, allow_nan=False)
    return path


def _plain(value):
    """A value as JSON has it: null for numbers that are not finite, texts for what JSON lacks."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, _Media):
        return "<%s>" % type(value).__name__
    n = _events.number(value)
    if n is not None:
        return n if math.isfinite(n) else None
    listed = _listed(value)
    return str(value) if listed is None else _plain(listed)


def folder():
    """The trial's folder for files to keep, None outside of trials."""
    return os.environ.get("SWEEP_ARTIFACTS") or None


def keep(name, value, step=None):
    """Keeps an object, or a list of them, that was logged; its newest form replaces older ones."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, _Media) for v in value):
        for i, v in enumerate(value[:_LIST]):
            _keep_one(v, step, name, i)
        if len(value) > _LIST:
            _events.once("%s: of its %d objects %d are kept" % (name, len(value), _LIST))
        return
    _keep_one(value, step, name, None)


def _keep_one(value, step, name, place):
    into = folder()
    kind = type(value).__name__
    if isinstance(value, str):
        value = _Text(value)
    elif not isinstance(value, _Media) and (callable(getattr(value, "savefig", None)) or callable(getattr(value, "write_html", None))):
        value = Image(value)
    if into is not None and isinstance(value, _Media):
        into = os.path.join(into, "media")
        try:
            os.makedirs(into, exist_ok=True)
            index = _Index(into)
            path = value._keep(os.path.join(into, index.stem(name, place)))
            if path is not None:
                entry = {"name": name, "kind": "html" if path.endswith(".html") else value._kind}
                if place is not None:
                    entry["place"] = place
                entry["file"] = os.path.basename(path)
                if step is not None:
                    entry["step"] = step
                index.add(dict(entry, **value._about()))
                return
        except Exception as problem:
            _events.once("%s: its %s is left out: %s" % (name, kind, problem))
            return
        try:
            os.rmdir(into)  # if nothing was kept
        except OSError:
            pass
    _events.once("%s: its %s is no number and is left out" % (name, kind))


# What the program has set besides the sweep's values, as JSON. No other object's file has this name.
_CONFIG = "run.config.json"


def keep_config(config):
    """Keeps what the program has in its config."""
    into = folder()
    if into is None or not set(config) - config._locked:
        return
    into = os.path.join(into, "media")
    try:
        text = json.dumps(_plain(dict(config)), indent=2, allow_nan=False)
        if len(text) > _TEXT:
            text = json.dumps({str(k): str(v)[:100] for k, v in config.items()}, indent=2)[:10 * _TEXT]
        os.makedirs(into, exist_ok=True)
        path = os.path.join(into, _CONFIG)
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.replace(path + ".new", path)
        _Index(into).add({"name": "config", "kind": "text", "file": _CONFIG})
    except Exception as problem:
        _events.once("config is not kept: %s" % problem)


class _Index:
    """The list of a trial's media, in the file index.json beside them."""

    def __init__(self, into):
        self._path = os.path.join(into, "index.json")
        try:
            with open(self._path, encoding="utf-8") as f:
                self._media = json.load(f)["media"]
        except (OSError, ValueError, KeyError):
            self._media = []

    def stem(self, name, place):
        """A file's name without its suffix, of the letters that artifacts may have, that no
        other object has."""
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name if place is None else "%s_%d" % (name, place))[:60] or "_"
        taken = {m["file"].split(".")[0] for m in self._media if (m["name"], m.get("place")) != (name, place)}
        unique, n = plain, 1
        while unique in taken:
            n += 1
            unique = "%s-%d" % (plain, n)
        return unique

    def add(self, entry):
        same = (entry["name"], entry.get("place"))
        self._media = [m for m in self._media if (m["name"], m.get("place")) != same] + [entry]
        _dump(self._path + ".new", {"media": self._media})
        os.replace(self._path + ".new", self._path)
