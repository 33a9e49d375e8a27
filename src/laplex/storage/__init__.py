"""A saved object on disk: arrays as safetensors, the rest as JSON, in one folder.

    NAME/
      laplex.json                   what it is, its format version, its settings, which arrays file belongs to it
      arrays-<digest>.safetensors   every array, named by the hash of its bytes

`laplex.json` is the commit point: a kill at any moment leaves the old object or the new one. Arrays load memory-mapped
and read-only. Nothing is ever unpickled. A folder from a stranger can make us read no file outside it, and allocate no
more than its files hold: sizes are compared with theirs, arrays may not overlap, and what is JSON may not be long.

saving.py    save, load, clear up               atomic.py   files that appear whole or not at all; who else writes
manifest.py  laplex.json                        limits.py   what a stranger's file can make us do
arrays.py    the safetensors layout             strings.py  many strings as two arrays
"""

from laplex.storage.arrays import Stream
from laplex.storage.atomic import replacing, scratch
from laplex.storage.manifest import MANIFEST, VERSION, as_json, versions
from laplex.storage.saving import Saved, clear_up, exists, load, save
from laplex.storage.strings import pack, unpack

__all__ = [
    "MANIFEST",
    "VERSION",
    "Saved",
    "Stream",
    "as_json",
    "clear_up",
    "exists",
    "load",
    "pack",
    "replacing",
    "save",
    "scratch",
    "unpack",
    "versions",
]
