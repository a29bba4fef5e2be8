"""glTF as two of the formats of the registry: binary (``.glb``) and JSON (``.gltf``)."""

from __future__ import annotations

from ambulo.formats.format import Format
from ambulo.formats.gltf_container import sniff_glb, sniff_json
from ambulo.formats.gltf_reader import read
from ambulo.formats.gltf_writer import write_glb, write_gltf

GLB = Format(name="glb", extensions=(".glb",), sniff=sniff_glb, read=read, write=write_glb, several="animations")
GLTF = Format(name="gltf", extensions=(".gltf",), sniff=sniff_json, read=read, write=write_gltf, several="animations")
