"""FBX as one of the formats of the registry; read only."""

from __future__ import annotations

from ambulo.formats.fbx_reader import read, sniff
from ambulo.formats.format import Format

FORMAT = Format(name="fbx", extensions=(".fbx",), sniff=sniff, read=read)
