"""init(sync_tensorboard=True): scalars that a script writes for TensorBoard are logged."""

import importlib.abc
import importlib.machinery
import sys

from . import _events

# The modules that have a SummaryWriter, of PyTorch and of the package tensorboardX.
_writers = ("torch.utils.tensorboard.writer", "tensorboardX.writer")


def patch(**ignored):
    """Has the writers, imported already or later, log what they are given."""
    for name in _writers:
        if name in sys.modules:
            _extend(sys.modules[name])
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    if "tensorflow" in sys.modules:
        _events.once("sync_tensorboard: scalars of TensorFlow's tf.summary are not logged; wandb.keras has callbacks")


class _Finder(importlib.abc.MetaPathFinder):
    """Extends writers when they are imported."""

    def find_spec(self, name, path=None, target=None):
        if name not in _writers:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def extended(module):
                execute(module)
                _extend(module)

            spec.loader.exec_module = extended
        return spec


def _extend(module):
    writer = getattr(module, "SummaryWriter", None)
    if writer is None or getattr(writer, "_logs", False):
        return
    writer._logs = True
    scalar, scalars = writer.add_scalar, writer.add_scalars

    def add_scalar(self, tag, scalar_value, global_step=None, *arguments, **options):
        _log({tag: scalar_value}, global_step)
        return scalar(self, tag, scalar_value, global_step, *arguments, **options)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, *arguments, **options):
        _log({"%s/%s" % (main_tag, tag): value for tag, value in tag_scalar_dict.items()}, global_step)
        return scalars(self, main_tag, tag_scalar_dict, global_step, *arguments, **options)

    writer.add_scalar, writer.add_scalars = add_scalar, add_scalars


def _log(values, step):
    import wandb

    if wandb.run is not None:
        wandb.run.log(values, step=None if step is None else int(step))
