"""Which nodes of a glTF are the joints of which body.

- With skins: the joints of the skins. Skins that share a joint, or whose joints hang from another's, are one body
  (a character in several pieces, a sword in its hand); others are bodies of their own.
- Without: the nodes that animations move, and all below the topmost of them.
- Nodes between two joints are folded into the lower one, nodes above the topmost joint into that one. Where a body has
  several topmost joints, the nearest node above all of them becomes its root.
"""

from __future__ import annotations

from dataclasses import dataclass

from ambulo.formats.gltf_container import Document
from ambulo.formats.gltf_nodes import NodeTree, node_label
from ambulo.motion.motion import Note


@dataclass(frozen=True)
class Actor:
    """One body.

    Attributes:
        nodes: the node of each joint; -1 for a root at the origin that the file does not have.
        names: one unique name a joint.
        parents: index of each joint's parent among the joints, -1 for the root.
        notes: what was odd.
    """

    nodes: list[int]
    names: list[str]
    parents: list[int]
    notes: list[Note]


def find_actors(document: Document, tree: NodeTree, moved: set[int]) -> list[Actor]:
    """The bodies of a file, in the order of their first joints.

    Args:
        document: the file.
        tree: its nodes.
        moved: nodes that animations move.

    Raises:
        FormatError: a skin names a node that does not exist, or nothing in the file can move.
    """
    groups = _skin_groups(document, tree) or _moved_groups(tree, moved)
    if not groups:
        document.refuse(
            "the file holds no skin and no animation, so no skeleton",
            remedy="export the armature together with the mesh, or with its animation",
        )
    rank = {node: place for place, node in enumerate(tree.order)}
    groups.sort(key=lambda group: min(rank[node] for node in group))
    return [_actor(document, tree, group, rank) for group in groups]


def _skin_groups(document: Document, tree: NodeTree) -> list[set[int]]:
    leader: dict[int, int] = {}

    def find(node: int) -> int:
        while leader[node] != node:
            leader[node] = leader[leader[node]]
            node = leader[node]
        return node

    count = len(document.root.nodes)
    for index, skin in enumerate(document.root.skins):
        for node in skin.joints:
            if node >= count:
                document.refuse(f"skin {index} names node {node}, there are {count}")
            leader.setdefault(node, node)
            leader[find(node)] = find(skin.joints[0])
    above = tree.nearest_above(set(leader))
    for node in leader:
        if above[node] >= 0:
            leader[find(node)] = find(above[node])
    groups: dict[int, set[int]] = {}
    for node in leader:
        groups.setdefault(find(node), set()).add(node)
    return list(groups.values())


def _moved_groups(tree: NodeTree, moved: set[int]) -> list[set[int]]:
    """Moved nodes and all below them, apart for each tree of the scene."""
    inside: set[int] = set()
    groups: dict[int, set[int]] = {}
    top_of: dict[int, int] = {}
    for node in tree.order:
        parent = tree.parents[node]
        top_of[node] = node if parent < 0 else top_of[parent]
        if node in moved or parent in inside:
            inside.add(node)
            groups.setdefault(top_of[node], set()).add(node)
    return list(groups.values())


def _actor(document: Document, tree: NodeTree, group: set[int], rank: dict[int, int]) -> Actor:
    notes: list[Note] = []
    members = set(group)
    above = tree.nearest_above(members)
    tops = [node for node in group if above[node] < 0]
    missing_root = False
    if len(tops) > 1:
        shared = tree.common_ancestor(tops)
        if shared >= 0:
            members.add(shared)
            above = tree.nearest_above(members)
            label = node_label(document, shared)
            notes.append(Note("root", f"{len(tops)} joints have none above them; {label} becomes their root"))
        else:
            missing_root = True
            notes.append(Note("root", f"{len(tops)} joints have no common root; one is added at the origin"))
    nodes = _file_order(document, above, members) or sorted(members, key=lambda node: rank[node])
    place = {node: index + missing_root for index, node in enumerate(nodes)}
    parents = [-1] if missing_root else []
    for node in nodes:
        parents.append(place[above[node]] if above[node] >= 0 else -1 + missing_root)
    if missing_root:
        nodes = [-1, *nodes]
    return Actor(nodes, _names(document, nodes, notes), parents, notes)


def _file_order(document: Document, above: list[int], members: set[int]) -> list[int] | None:
    """The order of the one skin that has all these joints, if parents come first in it."""
    for skin in document.root.skins:
        if len(skin.joints) == len(members) and set(skin.joints) == members:
            seen = {-1}
            for node in skin.joints:
                if above[node] not in seen:
                    return None
                seen.add(node)
            return list(skin.joints)
    return None


def _names(document: Document, nodes: list[int], notes: list[Note]) -> list[str]:
    names: list[str] = []
    taken: set[str] = set()
    for node in nodes:
        name = "root" if node < 0 else document.root.nodes[node].name or f"node_{node}"
        unique, number = name, 1
        while unique in taken:
            number += 1
            unique = f"{name}#{number}"
        if unique != name:
            notes.append(
                Note("duplicate_name", f"a second joint {name!r} is called {unique!r}", warning=True, joint=unique)
            )
        taken.add(unique)
        names.append(unique)
    return names
