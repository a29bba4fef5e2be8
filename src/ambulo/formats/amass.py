"""AMASS and other ``.npz`` of the SMPL family as one of the formats of the registry."""

from __future__ import annotations

from ambulo.formats.amass_reader import meant, read, sniff
from ambulo.formats.amass_writer import write
from ambulo.formats.format import Format

FORMAT = Format(name="amass", extensions=(".npz",), sniff=sniff, read=read, write=write, meant=meant)
