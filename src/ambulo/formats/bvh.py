"""BVH as one of the formats of the registry."""

from __future__ import annotations

from ambulo.formats.bvh_reader import read, sniff
from ambulo.formats.bvh_writer import write
from ambulo.formats.format import Format

FORMAT = Format(name="bvh", extensions=(".bvh",), sniff=sniff, read=read, write=write, several="actors")
