"""Where scripts ask for what they write for TensorBoard."""

from ._tensorboard import patch
