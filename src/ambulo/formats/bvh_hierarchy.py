"""The HIERARCHY part of a BVH file: its joints, offsets and channels, without recursion and with every fault's line.

The format: M. Meredith and S. Maddock, "Motion Capture File Formats Explained", University of Sheffield, 2001.
Keywords are read in any case, wherever line breaks fall; a joint's name is the rest of its line, blanks included.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, NoReturn

from ambulo.errors import FormatError
from ambulo.motion.motion import Note

CHANNELS = {f"{axis}{kind}": (kind, index) for index, axis in enumerate("xyz") for kind in ("position", "rotation")}
CHANNEL_NAMES = "Xposition, Yposition, Zposition, Xrotation, Yrotation, Zrotation"
FAULTS_LISTED = 20
LARGEST_OFFSET = 1e9
_LONGEST_KEPT = 1 << 16

# Whole statements where they stand on one line, as nearly always; single words where they do not. A statement that this
# does not match (a count that is none, a NaN) falls apart into words, and the parser says what is wrong with them.
_TOKEN = re.compile(
    r"""[^\S\r\n]*(?:
      (?P<line>\r\n|\n|\r)
    | (?P<open>\{)
    | (?P<close>\})
    | (?P<offset>OFFSET(?:[^\S\r\n]+[+-]?[\d.]+){3}(?=[\s}]))
    | (?P<channels>CHANNELS[^\S\r\n]+\d+(?:[^\S\r\n]+[XYZ](?:position|rotation))*(?=[\s{}]))
    | (?P<joint>(?:ROOT|JOINT)(?![^\s{]))[^\S\r\n]*(?P<name>[^\r\n{]*)
    | (?P<end>End[^\S\r\n]*Site\b[^\r\n{}]*)
    | (?P<word>[^\s{}]+)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_KEYWORDS = frozenset({"offset", "channels", "motion", "hierarchy"})


class Channel(NamedTuple):
    """One column of the number block."""

    kind: str
    axis: int
    column: int


@dataclass
class Joint:
    """A joint as the file states it, in file units."""

    name: str
    parent: int
    line: int
    offset: tuple[float, float, float] | None = None
    end_offset: tuple[float, float, float] | None = None
    channels: list[Channel] = field(default_factory=list)
    has_channels: bool = False


@dataclass
class Hierarchy:
    """All joints of a file in its own order (parents first), by actor.

    Attributes:
        joints: every joint.
        roots: index of each actor's first joint; actor ``a`` owns ``[roots[a], roots[a + 1])``.
        channel_count: numbers in a frame.
        notes: what was odd.
        line: the last line of this part.
    """

    joints: list[Joint] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    channel_count: int = 0
    notes: list[Note] = field(default_factory=list)
    line: int = 1

    def channel_names(self) -> list[tuple[str, str]]:
        """Joint and channel of each column, as the file's reader would say them."""
        names = [("", "")] * self.channel_count
        for joint in self.joints:
            for channel in joint.channels:
                names[channel.column] = (joint.name, f"{'XYZ'[channel.axis]}{channel.kind}")
        return names


def refuse(path: Path, faults: list[tuple[int, str, str | None, str | None]], remedy: str | None) -> NoReturn:
    """Raise one error for all faults ``(line, what, joint, key)`` of a kind: the first in full, the others listed."""
    line, what, joint, key = faults[0]
    message = what
    if len(faults) > 1:
        others = [f"line {fault[0]}: {fault[1]}" for fault in faults[1:FAULTS_LISTED]]
        more = len(faults) - FAULTS_LISTED
        if more > 0:
            others.append(f"{more} more")
        message += f"; also {'; '.join(others)}"
    raise FormatError(message, path=path, line=line, joint=joint, key=key, remedy=remedy)


def parse_hierarchy(text: str, path: Path) -> Hierarchy:
    """Parse everything before MOTION.

    The takes of a data set mostly begin alike, to the letter: what was parsed lately is not parsed again.

    Raises:
        FormatError: with the line, for unbalanced braces, unknown words, channel faults and bad offsets.
    """
    if len(text) > _LONGEST_KEPT:
        return _Parser(text, path).parse()
    try:
        kept = _parsed_lately(text)
    except FormatError:
        return _Parser(text, path).parse()  # once more, to name the file
    return replace(kept, joints=list(kept.joints), roots=list(kept.roots), notes=list(kept.notes))


@lru_cache(maxsize=8)
def _parsed_lately(text: str) -> Hierarchy:
    return _Parser(text, Path()).parse()


@lru_cache(maxsize=256)
def _plain_channels(statement: str) -> tuple[tuple[str, int], ...] | None:
    """Kind and axis of each channel of a CHANNELS statement without fault; None for any other."""
    _, declared, *words = statement.lower().split()
    channels = tuple(CHANNELS[word] for word in words)
    return channels if int(declared[:9]) == len(channels) == len(set(channels)) else None


class _Parser:
    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.result = Hierarchy()
        self.tokens: list[tuple[str, str, int]] = []
        line = 1
        for match in _TOKEN.finditer(text):
            kind = match.lastgroup
            if kind == "line":
                line += 1
            elif kind == "name":
                # The name's group closes last in a joint's match.
                owner = "root" if match["joint"].lower() == "root" else "joint"
                self.tokens.append((owner, match["name"].rstrip(), line))
            elif kind is not None:
                self.tokens.append((kind, match[kind], line))
        self.last_line = line
        self.at = 0
        self.number_faults: list[tuple[int, str, str | None, str | None]] = []
        self.channel_faults: list[tuple[int, str, str | None, str | None]] = []

    def fail(self, message: str, line: int, remedy: str | None = None, joint: str | None = None) -> NoReturn:
        raise FormatError(message, path=self.path, line=line, joint=joint, remedy=remedy)

    def note(self, code: str, message: str, line: int, joint: str | None = None, warning: bool = True) -> None:
        self.result.notes.append(Note(code, message, warning=warning, line=line, joint=joint))

    def parse(self) -> Hierarchy:
        tokens = self.tokens
        if tokens and tokens[0][1].lower() == "hierarchy":
            self.at = 1
        elif tokens and tokens[0][0] == "root":
            self.note("no_hierarchy", "the word HIERARCHY is missing before the first ROOT", tokens[0][2])
        else:
            first = tokens[0][1][:40] if tokens else ""
            self.fail(
                f"not a BVH file: it begins with {first!r} where HIERARCHY is expected",
                tokens[0][2] if tokens else 1,
                "check that the file is what its name says",
            )
        # The open blocks, innermost last: index of the joint, or -1 for an End Site; and the line of its brace.
        stack: list[tuple[int, int]] = []
        pending: int | None = None
        count = len(tokens)
        while self.at < count:
            kind, word, line = tokens[self.at]
            self.at += 1
            if pending is not None:
                if kind != "open":
                    self.fail(f"{word!r} where '{{' is expected", line)
                stack.append((pending, line))
                pending = None
                continue
            inside = stack[-1][0] if stack else None
            if kind in ("offset", "channels") and not self.read_statement(kind, word, inside, stack, line):
                # Anything unusual about a statement is found word by word.
                word, *words = word.split()
                tokens[self.at : self.at] = [("word", each, line) for each in words]
                count = len(tokens)
                kind = "word"
            lower = word.lower()
            if kind in ("offset", "channels"):
                pass
            elif kind == "root":
                if stack:
                    self.fail(f"ROOT {word!r} while the block opened at line {stack[-1][1]} is still open", line)
                self.result.roots.append(len(self.result.joints))
                pending = self.add_joint(word, -1, line)
            elif kind == "joint":
                if inside is None or inside < 0:
                    self.fail(f"JOINT {word!r} outside of any joint's block", line)
                pending = self.add_joint(word, inside, line)
            elif kind == "end":
                if inside is None or inside < 0:
                    self.fail("End Site outside of any joint's block", line)
                pending = -1
            elif kind == "close":
                if not stack:
                    self.fail("'}' without an open block", line)
                stack.pop()
            elif kind == "open":
                self.fail("'{' without a ROOT, JOINT or End Site before it", line)
            elif lower == "offset" and inside is not None:
                self.read_offset(inside, stack, line)
            elif lower == "channels" and inside is not None:
                self.read_channels(inside, line)
            elif lower == "motion":
                if not stack:
                    break
                self.fail(
                    f"MOTION while the block opened at line {stack[-1][1]} is still open",
                    line,
                    "a closing brace is missing",
                )
            else:
                expected = "OFFSET, CHANNELS, JOINT, End Site or '}'" if stack else "ROOT or MOTION"
                self.fail(f"{word[:40]!r} where {expected} is expected", line)
        if pending is not None:
            self.fail("the file ends where '{' is expected", self.last_line)
        if stack:
            self.fail(
                f"the file ends while the block opened at line {stack[-1][1]} is still open",
                self.last_line,
                "the file is cut short; copy or export it again",
            )
        if not self.result.joints:
            self.fail("there is no ROOT", self.last_line)
        if self.channel_faults:
            refuse(self.path, self.channel_faults, f"the channels are {CHANNEL_NAMES}")
        if self.number_faults:
            refuse(self.path, self.number_faults, "an OFFSET is three plain numbers")
        for joint in self.result.joints:
            if joint.offset is None:
                joint.offset = (0.0, 0.0, 0.0)
                self.note("no_offset", f"{joint.name} has no OFFSET; zero is taken", joint.line, joint.name)
        self.rename_duplicates()
        self.result.line = self.last_line
        return self.result

    def add_joint(self, name: str, parent: int, line: int) -> int:
        if not name and self.at < len(self.tokens) and self.tokens[self.at][0] == "word":
            # The name stands on the next line.
            name = self.tokens[self.at][1]
            self.at += 1
        if not name:
            name = f"joint_{len(self.result.joints)}"
            self.note("no_name", f"a joint has no name; it is called {name}", line, name)
        self.result.joints.append(Joint(name, parent, line))
        return len(self.result.joints) - 1

    def read_statement(self, kind: str, text: str, inside: int | None, stack: list[tuple[int, int]], line: int) -> bool:
        """Take a whole OFFSET or CHANNELS statement at once; False where it needs a closer look."""
        if inside is None or (self.at < len(self.tokens) and self.tokens[self.at][0] == "word"):
            return False
        if kind == "offset":
            try:
                x, y, z = map(float, text.split()[1:])
            except ValueError:
                return False
            if not max(abs(x), abs(y), abs(z)) <= LARGEST_OFFSET:
                return False
            self.set_offset((x, y, z), inside, stack, line)
            return True
        channels = _plain_channels(text)
        if channels is None or inside < 0 or self.result.joints[inside].has_channels:
            return False
        joint, first = self.result.joints[inside], self.result.channel_count
        joint.has_channels = True
        joint.channels = [Channel(kind, axis, first + index) for index, (kind, axis) in enumerate(channels)]
        self.result.channel_count += len(channels)
        return True

    def read_offset(self, inside: int, stack: list[tuple[int, int]], line: int) -> None:
        owner = inside if inside >= 0 else stack[-2][0]
        joint = self.result.joints[owner]
        numbers: list[float] = []
        while len(numbers) < 3 and self.at < len(self.tokens):
            kind, word, word_line = self.tokens[self.at]
            if kind != "word" or word.lower() in _KEYWORDS:
                break
            self.at += 1
            value = float(word) if NUMBER.fullmatch(word) else math.nan
            if not abs(value) <= LARGEST_OFFSET:
                hint = " (a decimal comma?)" if "," in word else ""
                self.number_faults.append(
                    (word_line, f"OFFSET of {joint.name}: {word!r} is no usable number{hint}", joint.name, "OFFSET")
                )
                value = 0.0
            numbers.append(value)
        if len(numbers) < 3:
            self.number_faults.append(
                (line, f"OFFSET of {joint.name} has {len(numbers)} of 3 values", joint.name, "OFFSET")
            )
            return
        self.set_offset((numbers[0], numbers[1], numbers[2]), inside, stack, line)

    def set_offset(
        self, offset: tuple[float, float, float], inside: int, stack: list[tuple[int, int]], line: int
    ) -> None:
        joint = self.result.joints[inside if inside >= 0 else stack[-2][0]]
        if inside >= 0:
            if joint.offset is not None:
                self.fail(f"a second OFFSET for {joint.name}", line, joint=joint.name)
            joint.offset = offset
        elif joint.end_offset is None:
            joint.end_offset = offset
        else:
            self.note("end_sites", f"{joint.name} has more than one End Site; the first is kept", line, joint.name)

    def read_channels(self, inside: int, line: int) -> None:
        declared_word = ""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "word":
            declared_word = self.tokens[self.at][1]
            self.at += 1
        joint = self.result.joints[inside] if inside >= 0 else None
        name = joint.name if joint else "End Site"
        if joint and joint.has_channels:
            self.fail(f"a second CHANNELS for {joint.name}", line, joint=joint.name)
        declared = int(declared_word) if declared_word.isdecimal() and len(declared_word) < 10 else None
        words: list[tuple[str, int]] = []
        while self.at < len(self.tokens):
            kind, word, word_line = self.tokens[self.at]
            if kind != "word" or word.lower() in _KEYWORDS:
                break
            words.append((word, word_line))
            self.at += 1
        if declared is None:
            self.channel_faults.append((line, f"CHANNELS of {name}: {declared_word[:40]!r} is no count", name, None))
            return
        if len(words) != declared:
            self.channel_faults.append(
                (line, f"CHANNELS of {name}: {declared} declared, {len(words)} named", name, "CHANNELS")
            )
        if joint is None:
            if words:
                self.channel_faults.append((line, "an End Site cannot have channels", None, "CHANNELS"))
            return
        joint.has_channels = True
        seen: Counter[tuple[str, int]] = Counter()
        for word, word_line in words:
            channel = CHANNELS.get(word.lower())
            if channel is None:
                self.channel_faults.append((word_line, f"{word[:40]!r} of {name} is no channel", name, word[:40]))
                continue
            seen[channel] += 1
            if seen[channel] == 2:
                if channel[0] == "position":
                    self.channel_faults.append((word_line, f"{word} of {name} is named twice", name, word))
                else:
                    self.note("channel_twice", f"{name} names {word} twice; both are applied", word_line, name)
            joint.channels.append(Channel(channel[0], channel[1], self.result.channel_count))
            self.result.channel_count += 1

    def rename_duplicates(self) -> None:
        roots = [*self.result.roots, len(self.result.joints)]
        for start, stop in pairwise(roots):
            joints = self.result.joints[start:stop]
            counts = Counter(joint.name for joint in joints)
            if len(counts) == len(joints):
                continue
            taken = set(counts)
            met: Counter[str] = Counter()
            for joint in joints:
                original = joint.name
                met[original] += 1
                if met[original] == 1:
                    continue
                number = met[original]
                while f"{original}#{number}" in taken:
                    number += 1
                met[original] = number
                joint.name = f"{original}#{number}"
                taken.add(joint.name)
                self.note(
                    "duplicate_name",
                    f"a second joint is called {original!r}; this one is renamed {joint.name!r}",
                    joint.line,
                    joint.name,
                )
