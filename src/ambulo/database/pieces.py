"""Digests of the frames clip by clip: a build hands those of unchanged clips on, and damage is told to the clip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ambulo.database.row_writer import pieces_checksum
from ambulo.database.storage import CHECKSUM_BYTES, digest_of, map_tensors, write_tensors
from ambulo.errors import DatabaseError

PIECES_FILE = "frames/pieces.safetensors"
ANEW = "build it anew: `ambulo build --force`"
"""What to do about frames that rotted: a build that looks at sizes and times alone finds nothing to do."""

_STOPS = "stops"


class Pieces(NamedTuple):
    """The pieces that the files of a database's frames were written in, one a clip.

    Attributes:
        stops: int64 ``[C]``, the frame after the last of each.
        digests: name of a channel -> uint8 ``[C, 16]``.
    """

    stops: NDArray[np.int64]
    digests: Mapping[str, NDArray[np.uint8]]

    def between(self, channel: str, first: int, count: int) -> list[bytes]:
        """The digests of the pieces that make up the frames ``[first, first + count)`` of a channel."""
        begin = int(np.searchsorted(self.stops, first, side="right"))
        end = int(np.searchsorted(self.stops, first + count, side="left")) + 1
        return [row.tobytes() for row in self.digests[channel][begin:end]]


def write_pieces(folder: Path, stops: Sequence[int], digests: Mapping[str, Sequence[bytes]]) -> None:
    """Write them into a database's folder."""
    tensors = {
        name: np.frombuffer(b"".join(each), np.uint8).reshape(len(stops), CHECKSUM_BYTES)
        for name, each in digests.items()
    }
    write_tensors(folder / PIECES_FILE, {_STOPS: np.array(stops, np.int64), **tensors})


def read_pieces(folder: Path) -> Pieces:
    """Those of a database.

    Raises:
        DatabaseError: the file is missing or damaged.
    """
    tensors = map_tensors(folder / PIECES_FILE)
    stops = tensors.pop(_STOPS, None)
    shape = (0 if stops is None else len(stops), CHECKSUM_BYTES)
    if stops is None or any(array.shape != shape or array.dtype != np.uint8 for array in tensors.values()):
        raise DatabaseError("is damaged", path=folder / PIECES_FILE, remedy=ANEW)
    return Pieces(stops, tensors)


def verify_pieces(path: Path, channel: str, pieces: Pieces, checksum: str | None) -> None:
    """Read a channel's file whole and compare it with the digests of its pieces; memory stays at one.

    Raises:
        DatabaseError: a piece holds other bytes than were written, or the digests are not those of the file.
        OSError: it cannot be read.
    """
    digests = [row.tobytes() for row in pieces.digests.get(channel, ())]
    with path.open("rb") as file:
        size = path.stat().st_size
        head = file.read(8)
        head += file.read(min(int.from_bytes(head, "little"), size))
        size -= len(head)
        frame_bytes = size // int(pieces.stops[-1]) if len(pieces.stops) else 0
        start = 0
        for number, (stop, digest) in enumerate(zip(pieces.stops.tolist(), digests, strict=False)):
            if digest_of(file.read((stop - start) * frame_bytes)) != digest:
                raise DatabaseError(
                    f"holds other bytes than were written, in frames {start} to {stop} (clip {number}): it is damaged",
                    path=path,
                    frame=start,
                    remedy=ANEW,
                )
            start = stop
        rest = file.read(1)
    if rest or len(digests) != len(pieces.stops) or pieces_checksum(head, digests) != checksum:
        raise DatabaseError("holds other bytes than were written: it is damaged", path=path, remedy=ANEW)
