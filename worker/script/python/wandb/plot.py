"""Plots: kept as the tables that they draw, with what they draw of them; a confusion matrix as counts."""

from ._media import _dump, _listed, _Media, Table


class _Plot(_Media):
    """A plot that is left out."""


class _ConfusionMatrix(_Media):
    _kind = "confusion_matrix"

    def __init__(self, classes, counts, title):
        super().__init__(caption=title)
        self._classes, self._counts = classes, counts

    def _keep(self, stem):
        return _dump(stem + ".confusion.json", {"classes": self._classes, "counts": self._counts})


def confusion_matrix(probs=None, y_true=None, preds=None, class_names=None, title=None, **ignored):
    """Counts of rows by true class (rows) and predicted class (columns)."""
    actual = [int(c) for c in _listed(y_true) or []]
    if preds is None:
        rows = [_listed(row) for row in _listed(probs) or []]
        preds = [row.index(max(row)) for row in rows]
    predicted = [int(c) for c in _listed(preds) or []]
    if len(actual) != len(predicted):
        raise ValueError("y_true has %d classes and the predictions have %d" % (len(actual), len(predicted)))
    if class_names is not None:
        classes = [str(name) for name in class_names]
        numbers = range(len(classes))
    else:
        numbers = sorted(set(actual) | set(predicted))
        classes = ["Class_%d" % (i + 1) for i in range(len(numbers))]
    places = {number: i for i, number in enumerate(numbers)}
    counts = [[0] * len(classes) for _ in classes]
    for a, p in zip(actual, predicted):
        if a in places and p in places:
            counts[places[a]][places[p]] += 1
    return _ConfusionMatrix(classes, counts, title)


def _drawn(kind, table, title, **columns):
    drawn = Table(columns=table.columns, data=table.data)
    drawn._plot = dict({"kind": kind}, **{k: v for k, v in columns.items() if v is not None})
    if title:
        drawn._plot["title"] = str(title)
    return drawn


def line(table, x, y, stroke=None, title=None, **ignored):
    return _drawn("line", table, title, x=x, y=y, stroke=stroke)


def scatter(table, x, y, title=None, **ignored):
    return _drawn("scatter", table, title, x=x, y=y)


def bar(table, label, value, title=None, **ignored):
    return _drawn("bar", table, title, x=label, y=value)


def histogram(table, value, title=None, **ignored):
    return _drawn("histogram", table, title, x=value)


def line_series(xs, ys, keys=None, title=None, xname="x", **ignored):
    """Several lines over the same steps, or each over its own."""
    xs, ys = _listed(xs) or [], [_listed(line) or [] for line in _listed(ys) or []]
    own = bool(xs) and _listed(xs[0]) is not None
    rows = []
    for i, values in enumerate(ys):
        key = str(keys[i]) if keys is not None else "key_%d" % i
        rows += [[x, y, key] for x, y in zip(_listed(xs[i]) if own else xs, values)]
    return _drawn("line", Table(columns=[xname, "y", "key"], data=rows), title, x=xname, y="y", stroke="key")


def plot_table(vega_spec_name=None, data_table=None, fields=None, string_fields=None, **ignored):
    if not isinstance(data_table, Table):
        return _Plot()
    title = (string_fields or {}).get("title")
    return _drawn(str(vega_spec_name), data_table, title, **{k: v for k, v in (fields or {}).items() if k in ("x", "y", "stroke")})


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    return _Plot


roc_curve = pr_curve = _Plot
