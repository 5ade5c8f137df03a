# Writes the files that TestNumPy reads. Run in this folder, with NumPy.
import numpy as np

x = np.array([[[1, 10], [2, 20], [3, np.nan]], [[-1.5, 0.25], [np.nan, 7], [np.nan, np.nan]]], dtype="float32")
np.savez("float32", x=x, y=np.array(["sit", "stand ü"]))
np.savez_compressed("columns", x=np.asfortranarray(x.astype(">f8")), y=np.array([3, -1], dtype="int16"))
np.savez("half", x=np.array([[0.5, -2, 65504], [6e-8, 1, 0]], dtype="float16"), y=np.array([b"a", b"bc"]),
         lengths=np.array([2, 3]))
np.savez("integers", x=np.array([[1, -2, 3]], dtype="int8"), y=np.array([True]))
np.savez("objects", x=np.array([[1.0], [1.0, 2.0]], dtype=object), y=np.array([0, 1]))
np.savez("unlabelled", x=np.array([[1, 2, 3]], dtype="uint8"))
