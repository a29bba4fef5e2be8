"""Tags, numbers and questions: annotate takes, ask by an algebra, point into the data, and blend."""

from __future__ import annotations

import sys
from pathlib import Path

from ambulo import Database
from ambulo.database.pointer import DbPointer, blend_pointers
from ambulo.database.tag_query import parse_query
from ambulo.formats.channel_file import NumberRange, channel_file_of, channel_file_text
from ambulo.formats.tag_edit import TagDocument
from ambulo.formats.tag_file import TagRange, tag_file_of
from ambulo.matching.build import build
from ambulo.synthesis.takes import write_takes

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples") / "asked"

PROJECT = """\
name = "asked"
[[sources]]
path = "takes"
[channels.fatigue]
description = "0 fresh, 1 exhausted"
minimum = 0.0
maximum = 1.0
"""


def main() -> None:
    takes = write_takes(OUT / "takes", seed=5, minutes=0.5)
    (OUT / "ambulo.toml").write_text(PROJECT)

    # What people say about a take lies beside it as text; edits keep comments and order.
    document = TagDocument(tag_file_of(takes[0]))
    document.add(TagRange(1.0, 3.0, "injured", priority=0, bonus=0.2))
    document.save()
    channel_file_of(takes[0]).write_text(channel_file_text([NumberRange(0.0, 5.0, "fatigue", 0.0, 1.0)]))
    build(OUT, jobs=1)
    database = Database.open(OUT)

    for text in ("injured", "walk and not injured", 'before("injured", 0.5)', "fatigue > 0.5 and not mirrored"):
        ranges = parse_query(text).ranges(database)
        seconds = (ranges[:, 1] - ranges[:, 0]).sum() / database.rate
        print(f"{text}: {len(ranges)} stretches, {seconds:.2f} s")

    start = int(parse_query("injured").ranges(database)[0, 0])
    here = DbPointer.of_frame(database, start)
    pose = blend_pointers(database, [here, here.mirrored(database)], [0.5, 0.5])
    print(f"halfway between {here.clip} at frame {here.frame} and its mirror image: {len(pose.rotations)} joints")


if __name__ == "__main__":
    main()
