"""Which nodes of an FBX scene are joints, and to whose body they belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ambulo.errors import FormatError
from ambulo.formats.fbx_document import Document, FbxObject

BONES = ("LimbNode", "Limb", "Root")
_NO_JOINTS = (
    "Mesh",
    "Camera",
    "CameraSwitcher",
    "Light",
    "OpticalReference",
    "OpticalMarker",
    "Nurbs",
    "Patch",
    "Line",
)


@dataclass(frozen=True)
class Actor:
    """One body.

    Attributes:
        nodes: every node from the scene's top down to the joints, a parent before its children.
        parents: of each node, an index in ``nodes``; -1 at the top.
        joints: which of the nodes are joints; the others are folded into the joint below.
        joint_parents: of each joint, an index in ``joints``; -1 for a root.
        names: of the joints, unique.
    """

    nodes: tuple[FbxObject, ...]
    parents: tuple[int, ...]
    joints: tuple[int, ...]
    joint_parents: tuple[int, ...]
    names: tuple[str, ...]


def find_actors(document: Document) -> list[Actor]:
    """The bodies of a scene.

    Joints are the nodes of type LimbNode, Limb and Root and those that a skin is bound to; where there are none, chains
    of Nulls. Other nodes between or above them are folded. Roots under one node of the scene belong to one body, whose
    root that node becomes.

    Raises:
        FormatError: there is no skeleton, or parents form a circle.
    """
    # 0 is the scene itself; a node that says it is that is damaged.
    models = {entry.id: entry for entry in document.of_kind("Model") if entry.id != 0}
    parent = {number: _parent(document, number, models) for number in models}
    order = _from_the_top(document, models, parent)
    chosen = _bones(document, models)
    if not chosen:
        chosen = _null_chains(order, models, parent)
    lost = [number for number in chosen if number not in order]
    if lost:
        raise models[lost[0]].node.error(
            "its parents form a circle", joint=models[lost[0]].name, remedy="the file is damaged; export it again"
        )
    if not chosen:
        kinds = sorted({entry.subtype or "no type" for entry in models.values()})
        raise FormatError(
            f"there is no skeleton: no node of type {', '.join(BONES)}, no skin and no chain of Nulls "
            f"({len(models)} nodes of type {', '.join(kinds) or 'none'})",
            path=document.path,
            remedy="export the skeleton too",
        )
    top: dict[int, int] = {}
    for number in order:  # parents come first
        top[number] = top.get(parent[number], number)
    groups: dict[int, list[int]] = {}
    for number in sorted(chosen, key=order.__getitem__):
        groups.setdefault(top[number], []).append(number)
    most = max(len(group) for group in groups.values())
    branches: dict[int, list[int]] = {}
    for number in order:
        branches.setdefault(top[number], []).append(number)
    return [
        _actor(group, branches[first], models, parent)
        for first, group in groups.items()
        # A lone bone beside a body is a handle or a prop.
        if len(group) > 1 or most == 1
    ]


def _parent(document: Document, number: int, models: dict[int, FbxObject]) -> int:
    return next((above for above, prop in document.parents.get(number, ()) if above in models and not prop), 0)


def _from_the_top(document: Document, models: dict[int, FbxObject], parent: dict[int, int]) -> dict[int, int]:
    """Place of every node that can be reached from the top, parents first, branch by branch."""
    below: dict[int, list[int]] = {}
    for number in models:
        below.setdefault(parent[number], []).append(number)
    for above, numbers in below.items():
        connected = {number: place for place, (number, _) in enumerate(document.children.get(above, ()))}
        numbers.sort(key=lambda number: connected.get(number, len(connected)))
    order: dict[int, int] = {}
    stack = list(reversed(below.get(0, [])))
    while stack:
        number = stack.pop()
        if number not in order:
            order[number] = len(order)
            stack += reversed(below.get(number, []))
    return order


def _bones(document: Document, models: dict[int, FbxObject]) -> set[int]:
    chosen = {number for number, entry in models.items() if entry.subtype in BONES}
    for attribute in document.of_kind("NodeAttribute"):
        if attribute.subtype in BONES:
            chosen |= {above for above, _ in document.parents.get(attribute.id, ()) if above in models}
    for deformer in document.of_kind("Deformer"):
        if deformer.subtype == "Cluster":
            chosen |= {entry.id for entry, _ in document.below(deformer.id, "Model") if entry.id in models}
    return chosen


def _null_chains(order: dict[int, int], models: dict[int, FbxObject], parent: dict[int, int]) -> set[int]:
    nulls = {number for number in order if models[number].subtype not in _NO_JOINTS}
    linked = {number for number in nulls if parent[number] in nulls}
    return linked | {parent[number] for number in linked}


def _actor(group: Sequence[int], branch: Sequence[int], models: dict[int, FbxObject], parent: dict[int, int]) -> Actor:
    """One body: its joints, out of a branch of the scene, parents first."""
    inside = set(group)
    above = _joints_above(branch, parent, inside)
    roots = sum(not above[number] for number in group)
    if roots > 1:
        # The deepest node that all of them are below.
        below = {number: int(number in inside and not above[number]) for number in branch}
        for number in reversed(branch):
            if parent[number] in below:
                below[parent[number]] += below[number]
        inside.add([number for number in branch if below[number] == roots][-1])
        above = _joints_above(branch, parent, inside)
    needed: set[int] = set()
    for number in inside:
        while number in models and number not in needed:
            needed.add(number)
            number = parent[number]
    numbers = [number for number in branch if number in needed]
    place = {number: i for i, number in enumerate(numbers)}
    joints = [number for number in numbers if number in inside]
    rank = {number: i for i, number in enumerate(joints)}
    return Actor(
        tuple(models[number] for number in numbers),
        tuple(place.get(parent[number], -1) for number in numbers),
        tuple(place[number] for number in joints),
        tuple(rank.get(above[number], -1) for number in joints),
        _unique([models[number].name for number in joints]),
    )


def _joints_above(branch: Sequence[int], parent: dict[int, int], inside: set[int]) -> dict[int, int]:
    """The nearest joint above every node of a branch; 0 where there is none."""
    above: dict[int, int] = {}
    for number in branch:
        up = parent[number]
        above[number] = up if up in inside else above.get(up, 0)
    return above


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    used: set[str] = set()
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        base = name or "joint"
        count = seen.get(base, 0) + 1
        while (name := base if count == 1 else f"{base}#{count}") in used:
            count += 1
        seen[base] = count
        used.add(name)
        unique.append(name)
    return tuple(unique)
