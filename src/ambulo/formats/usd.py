"""USD as formats of the registry: text, crate, and package."""

from __future__ import annotations

from ambulo.formats.format import Format
from ambulo.formats.usd_reader import read, sniff_package, sniff_text
from ambulo.formats.usd_writer import write_crate, write_text

TEXT = Format(name="usda", extensions=(".usda",), sniff=sniff_text, read=read, write=write_text)
CRATE = Format(name="usdc", extensions=(".usdc", ".usd"), sniff=sniff_text, read=read, write=write_crate)
PACKAGE = Format(name="usdz", extensions=(".usdz",), sniff=sniff_package, read=read)
