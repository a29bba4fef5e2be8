"""Writes the TypeScript types of the studio's messages: ``python -m ambulo.studio.typescript web/src/messages.ts``.

A test compares the file with what this module would write, so the two ends cannot drift apart.
"""

from __future__ import annotations

import json
import sys
from itertools import chain
from pathlib import Path
from typing import Any, get_args

import msgspec.inspect as inspect

from ambulo.studio import messages, pose_messages


def typescript() -> str:
    """The text of ``web/src/messages.ts``."""
    unions = {
        "ClientMessage": _members(messages.ClientMessage),
        "ServerMessage": _members(messages.ServerMessage),
        "PoseClientMessage": _members(pose_messages.PoseClientMessage),
        "PoseServerMessage": _members(pose_messages.PoseServerMessage),
    }
    structs: dict[str, inspect.StructType] = {}
    for root in (*chain.from_iterable(unions.values()), inspect.type_info(pose_messages.SaveKeys)):
        _collect(root, structs)
    parts = [
        "// Written by `python -m ambulo.studio.typescript web/src/messages.ts` from studio/*messages.py: do not edit.",
        f"export const PROTOCOL_VERSION = {messages.PROTOCOL_VERSION};",
        *(_interface(struct) for struct in structs.values()),
        *(_union(name, kinds) for name, kinds in unions.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _members(union: Any) -> list[inspect.Type]:
    return [inspect.type_info(kind) for kind in get_args(union) or (union,)]


def _collect(kind: inspect.Type, into: dict[str, inspect.StructType]) -> None:
    match kind:
        case inspect.StructType():
            for entry in kind.fields:
                _collect(entry.type, into)
            into.setdefault(kind.cls.__name__, kind)
        case inspect.ListType():
            _collect(kind.item_type, into)
        case inspect.DictType():
            _collect(kind.value_type, into)
        case inspect.TupleType():
            for item in kind.item_types:
                _collect(item, into)
        case inspect.UnionType():
            for item in kind.types:
                _collect(item, into)
        case _:
            pass


def _interface(struct: inspect.StructType) -> str:
    summary = (struct.cls.__doc__ or "").strip().splitlines()[0]
    lines = [f"/** {summary} */", f"export interface {struct.cls.__name__} {{"]
    if struct.tag is not None:
        lines.append(f'  {struct.tag_field}: "{struct.tag}";')
    lines += [f"  {entry.encode_name}{'' if entry.required else '?'}: {_type(entry.type)};" for entry in struct.fields]
    return "\n".join([*lines, "}"])


def _type(kind: inspect.Type) -> str:
    match kind:
        case inspect.StructType():
            return kind.cls.__name__
        case inspect.IntType() | inspect.FloatType():
            return "number"
        case inspect.BoolType():
            return "boolean"
        case inspect.StrType():
            return "string"
        case inspect.NoneType():
            return "null"
        case inspect.LiteralType():
            return " | ".join(json.dumps(value) for value in kind.values)
        case inspect.ListType():
            item = _type(kind.item_type)
            return f"({item})[]" if "|" in item else f"{item}[]"
        case inspect.DictType():
            return f"Record<string, {_type(kind.value_type)}>"
        case inspect.TupleType():
            return f"[{', '.join(_type(item) for item in kind.item_types)}]"
        case inspect.UnionType():
            return " | ".join(_type(item) for item in kind.types)
        case _:
            raise TypeError(f"no TypeScript for {kind}")


def _union(name: str, kinds: list[inspect.Type]) -> str:
    names = " | ".join(kind.cls.__name__ for kind in kinds if isinstance(kind, inspect.StructType))
    return f"export type {name} = {names};"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(typescript(), encoding="utf-8", newline="\n")
