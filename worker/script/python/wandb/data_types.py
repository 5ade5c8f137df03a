"""The objects that scripts log."""

from ._media import Audio, Box3D, Graph, Histogram, Html, Image, Molecule, Object3D, Plotly, Table, Video
