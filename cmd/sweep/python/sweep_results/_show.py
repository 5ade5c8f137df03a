"""Tables and curves as notebooks show them: HTML and SVG, without dependencies."""

import math
from collections.abc import Sequence
from html import escape

# The most rows that are shown, of a table that has all of them.
_ROWS = 50
# Okabe and Ito's colours, which the colour-blind can tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")


def _text(value):
    if value is None:
        return ""
    if isinstance(value, float):
        return "%.6g" % value
    return str(value)


class Table(Sequence):
    """Rows, each a dict from column to value; columns is the list of all columns."""

    def __init__(self, rows, title=""):
        self._rows, self.title = list(rows), title
        self.columns = list(dict.fromkeys(name for row in self._rows for name in row))

    def __getitem__(self, at):
        return Table(self._rows[at], self.title) if isinstance(at, slice) else self._rows[at]

    def __len__(self):
        return len(self._rows)

    def column(self, name):
        """The values of a column, None in rows that lack it."""
        if name not in self.columns:
            raise KeyError("%s: no such column; there are %s" % (name, ", ".join(self.columns)))
        return [row.get(name) for row in self._rows]

    def frame(self):
        """The rows as pandas' DataFrame."""
        import pandas

        return pandas.DataFrame(self._rows, columns=self.columns)

    def _left(self):
        more = len(self._rows) - _ROWS
        return "%d more rows" % more if more > 0 else ""

    def __repr__(self):
        lines = [self.columns] + [[_text(row.get(name)) for name in self.columns] for row in self._rows[:_ROWS]]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.columns))]
        text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        return "\n".join(text + ([self._left()] if self._left() else []))

    def _repr_html_(self):
        numbers = {n for n in self.columns if all(isinstance(row.get(n), (int, float, type(None))) for row in self._rows)}

        def cell(kind, name, text):
            side = ' style="text-align: right"' if name in numbers else ' style="text-align: left"'
            return "<%s%s>%s</%s>" % (kind, side, escape(text), kind)

        head = "".join(cell("th", name, name) for name in self.columns)
        body = "".join(
            "<tr>%s</tr>" % "".join(cell("td", name, _text(row.get(name))) for name in self.columns)
            for row in self._rows[:_ROWS]
        )
        caption = "<caption>%s</caption>" % escape(self.title) if self.title else ""
        left = "<p>%s</p>" % self._left() if self._left() else ""
        return "<table>%s<thead><tr>%s</tr></thead><tbody>%s</tbody></table>%s" % (caption, head, body, left)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self._repr_html_(), "text/plain": repr(self)}


class Curves:
    """Lines by name, each a list of (step, value); values that are not finite are gaps."""

    def __init__(self, lines, metric="", title="", log=False):
        self.lines, self.metric, self.title, self.log = dict(lines), metric, title, log

    def frame(self):
        """A row for each sample, with the columns curve, step and the metric, as pandas' DataFrame."""
        import pandas

        rows = [(name, step, value) for name, line in self.lines.items() for step, value in line]
        return pandas.DataFrame(rows, columns=["curve", "step", self.metric or "value"])

    def __repr__(self):
        return "<%s: %s>" % (self.title, ", ".join("%s, %d steps" % (k, len(v)) for k, v in self.lines.items()) or "no curves")

    def _drawable(self, value):
        return math.isfinite(value) and (value > 0 or not self.log)

    def svg(self, width=640, height=320):
        """The curves as an SVG picture of this size in pixels, with their names at their ends."""
        left, right, top, bottom = 64, 96, 28, 36
        points = [p for line in self.lines.values() for p in line if self._drawable(p[1])]
        if not points:
            return '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="40"><text x="8" y="24">%s</text></svg>' % (
                width, escape(self.title + ": nothing to draw"))
        rise = math.log10 if self.log else float
        x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
        y0, y1 = min(rise(p[1]) for p in points), max(rise(p[1]) for p in points)
        x1, y1 = x1 + (x1 == x0), y1 + (y1 == y0)

        def place(step, value):
            return "%.1f,%.1f" % (
                left + (step - x0) / (x1 - x0) * (width - left - right),
                height - bottom - (rise(value) - y0) / (y1 - y0) * (height - top - bottom),
            )

        parts = [
            '<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">'
            % (width, height, width, height),
            '<rect width="%d" height="%d" fill="#fff"/>' % (width, height),
            '<text x="%d" y="18" font-weight="bold">%s</text>' % (left, escape(self.title)),
            '<text x="%d" y="%d" text-anchor="middle">step</text>' % ((left + width - right) / 2, height - 6),
            '<path d="M%d,%dV%dH%d" fill="none" stroke="#888"/>' % (left, top, height - bottom, width - right),
        ]
        for share in (0, 0.5, 1):
            level = y0 + share * (y1 - y0)
            value = 10**level if self.log else level
            y = height - bottom - share * (height - top - bottom)
            parts.append('<text x="%d" y="%.1f" text-anchor="end">%s</text>' % (left - 6, y + 4, "%.3g" % value))
            x = left + share * (width - left - right)
            parts.append('<text x="%.1f" y="%d" text-anchor="middle">%.4g</text>' % (x, height - bottom + 16, x0 + share * (x1 - x0)))
        ends = []
        for i, (name, line) in enumerate(self.lines.items()):
            colour = _COLOURS[i % len(_COLOURS)]
            pen, path, last = "M", [], None
            for step, value in line:
                if self._drawable(value):
                    last = place(step, value)
                    path.append(pen + last)
                    pen = "L"
                else:
                    pen = "M"
            if last is None:
                continue
            ends.append((float(last.split(",")[1]), float(last.split(",")[0]), name, colour))
            parts.append('<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>' % ("".join(path), colour))
        # Names stand at their lines' ends, moved up where they would overlap.
        ends.sort(reverse=True)
        lowest = height - bottom + 13
        for y, x, name, colour in ends:
            lowest = min(y, lowest - 13)
            parts.append('<text x="%.1f" y="%.1f" fill="%s">%s</text>' % (x + 5, lowest + 4, colour, escape(name)))
        return "".join(parts) + "</svg>"

    def _repr_svg_(self):
        return self.svg()

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}
