"""What holds a glTF: ``.glb`` (one file of chunks) or ``.gltf`` (JSON) with buffers inside it or beside it."""

from __future__ import annotations

import base64
import binascii
import re
import struct
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote, unquote_to_bytes

import msgspec

from ambulo.errors import FormatError, printable
from ambulo.formats.format import ReadOptions, read_file
from ambulo.formats.gltf_schema import Root
from ambulo.formats.paths import is_file
from ambulo.motion.motion import Note

_MAGIC = b"glTF"
_JSON_CHUNK, _BINARY_CHUNK = 0x4E4F534A, 0x004E4942
_AGAIN = "the file is damaged; export it again"
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_DATA_URI = re.compile(r"^data:([^,]*?)(;base64)?,", re.IGNORECASE | re.DOTALL)


def sniff_glb(head: bytes) -> bool:
    """Whether a file's first bytes are those of a binary glTF."""
    return head.startswith(_MAGIC)


def sniff_json(head: bytes) -> bool:
    """Whether a file's first bytes look like a glTF in JSON."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    words = (b'"asset"', b'"accessors"', b'"nodes"', b'"scenes"', b'"bufferViews"', b'"animations"')
    return text.startswith(b"{") and any(word in text for word in words)


class Document:
    """A glTF file: its JSON, checked, and its buffers, read when they are asked for.

    Attributes:
        path: the file.
        root: the JSON.
        notes: what was odd.
        size: bytes read so far, in all files.
    """

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path = path
        self.notes: list[Note] = []
        self._binary: memoryview | None = None
        self._buffers: dict[int, memoryview] = {}
        data = read_file(path)
        self.size = len(data)
        text: bytes | memoryview = data
        if data.startswith(_MAGIC):
            text = self._chunks(data, options.lenient)
        self.root = self._decode(text)
        self._check_version()

    def refuse(self, message: str, *, key: str | None = None, remedy: str = _AGAIN) -> NoReturn:
        """Raise a FormatError about this file."""
        raise FormatError(message, path=self.path, key=key, remedy=remedy)

    def buffer(self, index: int) -> memoryview:
        """The bytes of a buffer, at least as many as it declares.

        Raises:
            FormatError: there is no such buffer, or it is shorter than declared.
        """
        if index not in self._buffers:
            if index >= len(self.root.buffers):
                self.refuse(f"buffer {index} does not exist, there are {len(self.root.buffers)}")
            self._buffers[index] = self._read_buffer(index)
        return self._buffers[index]

    def _chunks(self, data: bytes, lenient: bool) -> memoryview:
        """The JSON chunk of a GLB; keeps the binary one."""
        again = "the file is cut short or damaged; copy or export it again"
        if len(data) < 20:
            self.refuse(f"the file ends after {len(data)} bytes, within the header of a GLB", remedy=again)
        _, version, length = struct.unpack_from("<4sII", data)
        if version != 2:
            self.refuse(f"this is version {version} of GLB; version 2 is read", remedy="export it as glTF 2.0")
        if length > len(data) and not lenient:
            self.refuse(f"the header says {length} bytes, the file holds {len(data)}", remedy=again)
        if length != len(data):
            self.notes.append(
                Note("length", f"the header says {length} bytes, the file holds {len(data)}", warning=True)
            )
        view = memoryview(data)
        json: memoryview | None = None
        at = 12
        while at + 8 <= len(data) and (json is None or self._binary is None):
            size, kind = struct.unpack_from("<II", data, at)
            at += 8
            if at + size > len(data) and not (lenient and kind == _BINARY_CHUNK):
                self.refuse(f"a chunk of {size} bytes begins at byte {at}, the file has {len(data)}", remedy=again)
            if kind == _JSON_CHUNK and json is None:
                json = view[at : at + size]
            elif kind == _BINARY_CHUNK and self._binary is None:
                self._binary = view[at : at + size]
            at += size
        if json is None:
            self.refuse("the GLB has no JSON chunk", remedy=again)
        return json

    def _decode(self, text: bytes | memoryview) -> Root:
        if bytes(text[:3]) == b"\xef\xbb\xbf":
            text = text[3:]
        text = bytes(text).rstrip(b"\0 \t\r\n")  # some writers pad with null bytes
        try:
            return msgspec.json.decode(text, type=Root, strict=False)
        except msgspec.ValidationError as error:
            message = str(error)
            what, _, where = message.partition(" - at ")
            self.refuse(f"the JSON is no glTF: {what} at {where or '$'}", remedy="export the file again")
        except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
            found = re.search(r"\(byte (\d+)\)", str(error))
            line = text.count(b"\n", 0, int(found[1])) + 1 if found else 1
            raise FormatError(
                f"the JSON is broken: {error}",
                path=self.path,
                line=line,
                remedy="the file is damaged or cut short; export it again",
            ) from None
        except RecursionError:
            self.refuse("the JSON is nested too deeply", remedy="export the file again")

    def _check_version(self) -> None:
        asset = self.root.asset
        wanted = asset.minVersion or asset.version
        if not re.fullmatch(r"2\.\d+", wanted) or (asset.minVersion and asset.minVersion != "2.0"):
            self.refuse(f"glTF version {wanted[:20]!r} is not read", key="asset", remedy="export it as glTF 2.0")

    def _read_buffer(self, index: int) -> memoryview:
        declared = self.root.buffers[index]
        uri = declared.uri
        if uri is None:
            if index or self._binary is None:
                required = ", ".join(self.root.extensionsRequired)
                hint = f"; the file requires {required}" if required else ""
                self.refuse(f"buffer {index} has no data{hint}", remedy="export the file without compression")
            data = self._binary
        elif match := _DATA_URI.match(uri):
            data = memoryview(self._inline(index, uri[match.end() :], match[2] is not None))
        else:
            data = memoryview(self._beside(index, uri))
        if len(data) < declared.byteLength:
            self.refuse(
                f"buffer {index} declares {declared.byteLength} bytes, {len(data)} are there",
                remedy="the file is cut short; copy or export it again",
            )
        return data

    def _inline(self, index: int, text: str, is_base64: bool) -> bytes:
        if not is_base64:
            return unquote_to_bytes(text)
        try:
            return base64.b64decode(unquote(text) if "%" in text else text, validate=True)
        except (binascii.Error, ValueError) as error:
            self.refuse(f"the data of buffer {index} is no base64: {error}", remedy="export the file again")

    def _beside(self, index: int, uri: str) -> bytes:
        name = unquote(uri)
        if _SCHEME.match(name) or name.startswith(("/", "\\")):
            self.refuse(
                f"buffer {index} lies at {printable(uri[:80])!r}; only files beside this one are read",
                remedy="save the file with its buffer beside it, or as .glb",
            )
        path = self.path.parent / name
        if not is_file(path):
            self.refuse(
                f"the file {printable(name[:200])!r} of buffer {index} is missing", remedy="put it beside this file"
            )
        data = read_file(path)
        self.size += len(data)
        return data
