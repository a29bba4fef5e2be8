"""A project's database in the file layouts of other motion-matching runtimes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ambulo import __version__
from ambulo.database.licences import licences_of
from ambulo.errors import ControlError
from ambulo.export.engine import holden, jlpm
from ambulo.export.engine.axes import AXES
from ambulo.export.engine.bundle import Exported, forbids_sale
from ambulo.export.engine.holden_body import HoldenCharacter, body_of, write_character
from ambulo.export.engine.output_folder import leftovers, refuse_overwriting, refuse_project_folders
from ambulo.formats.paths import write_whole
from ambulo.motion import kinematics

if TYPE_CHECKING:
    from ambulo.database.database import Database
    from ambulo.matching.features import FeatureSet

# Unity's HumanBodyBones by our roles, and what stands for none of them.
_HUMAN_BONES = {
    "hips": 0, "left_upper_leg": 1, "right_upper_leg": 2, "left_lower_leg": 3, "right_lower_leg": 4, "left_foot": 5,
    "right_foot": 6, "spine": 7, "chest": 8, "neck": 9, "head": 10, "left_shoulder": 11, "right_shoulder": 12,
    "left_upper_arm": 13, "right_upper_arm": 14, "left_forearm": 15, "right_forearm": 16, "left_hand": 17,
    "right_hand": 18, "left_toe": 19, "right_toe": 20,
}  # fmt: skip
_NO_BONE = 55


_WHY_NO_MODELS = {
    "holden": "his decompressor gives rotations to each bone's parent, ours gives them to the root: the one is a "
    "product of two of the other, which no layer of a network of his layout makes",
    "jlpm": "its files hold databases, not networks",
}


def refuse_models(target: str, controller: str) -> None:
    """Refuse a trained model for a target that has no place for it.

    Raises:
        ControlError: see above; says why.
    """
    if controller not in ("mm", "motion_matching"):
        raise ControlError(
            f"a trained model cannot be written for {target}: {_WHY_NO_MODELS[target]}",
            key="controller",
            remedy="export the database for it (--controller mm), or the model as ONNX (--target onnx)",
        )


def holden_database(database: Database) -> holden.HoldenDatabase:
    """The frames of a database; one range a clip."""
    return holden.HoldenDatabase(
        positions=np.asarray(database.positions, np.float32),
        velocities=np.asarray(database.velocities, np.float32),
        rotations=np.ascontiguousarray(np.asarray(database.rotations, np.float32)[..., [3, 0, 1, 2]]),
        angular_velocities=np.asarray(database.angular_velocities, np.float32),
        parents=np.asarray(database.skeleton.parents, np.int32),
        starts=database.clip_starts.astype(np.int32),
        stops=database.clip_stops.astype(np.int32),
        contacts=(np.asarray(database.contacts) != 0).astype(np.uint8),
    )


def _holden_character(database: Database) -> HoldenCharacter:
    """A body as it stands in the first frame that is no glitch."""
    first = int(np.argmax(np.asarray(database.valid) != 0))
    frame = slice(first, first + 1)
    pose = kinematics.forward(database.positions[frame], database.rotations[frame], database.skeleton.parents)
    return body_of(database.skeleton, pose.positions[0], pose.rotations[0])


def holden_features(features: FeatureSet) -> holden.HoldenFeatures:
    """Features normalised and weighted: ``(raw - offset) / scale``."""
    scale = (1.0 / np.maximum(features.coefficients(), 1e-12)).astype(np.float32)
    mean = np.asarray(features.mean, np.float32)
    return holden.HoldenFeatures(((features.raw - mean) / scale).astype(np.float32), mean, scale)


def jlpm_skeleton(database: Database) -> tuple[jlpm.JlpmJoint, ...]:
    """The joints, in Unity's axes."""
    skeleton, axes = database.skeleton, AXES["unity"]
    roles = {joint: role for role, joint in skeleton.roles.items() if role in _HUMAN_BONES}
    offsets = axes.vectors(np.asarray(skeleton.offsets, np.float32))
    return tuple(
        jlpm.JlpmJoint(
            name,
            index,
            max(int(skeleton.parents[index]), 0),
            (float(offsets[index, 0]), float(offsets[index, 1]), float(offsets[index, 2])),
            _HUMAN_BONES[roles[index]] if index in roles else _NO_BONE,
        )
        for index, name in enumerate(skeleton.names)
    )


def jlpm_poses(database: Database) -> jlpm.JlpmPoses:
    """The frames, clips and tags, in Unity's axes."""
    axes = AXES["unity"]
    # Turning is a pseudovector: mirrored as the axis of a quaternion is.
    turning = np.asarray(database.angular_velocities, np.float32)
    turned = axes.quaternions(np.concatenate([turning, np.ones_like(turning[..., :1])], axis=-1))[..., :3]
    return jlpm.JlpmPoses(
        clips=tuple((clip.start, clip.stop, 1.0 / database.rate) for clip in database.clips),
        positions=axes.vectors(np.asarray(database.positions)),
        rotations=axes.quaternions(np.asarray(database.rotations)),
        velocities=axes.vectors(np.asarray(database.velocities)),
        angular_velocities=np.ascontiguousarray(turned),
        contacts=(np.asarray(database.contacts) != 0).astype(np.uint32),
        tags=tuple((name, np.asarray(ranges, np.uint32).reshape(-1, 2)) for name, ranges in database.tags.items()),
    )


def jlpm_features(features: FeatureSet, valid: NDArray[Any]) -> jlpm.JlpmFeatures:
    """Features normalised without weights, those of the trajectory first, in Unity's axes."""
    schema = features.schema
    order = sorted(schema.groups, key=lambda group: group.joint >= 0)
    places = np.concatenate([np.arange(group.start, group.stop) for group in order])
    sign = np.array([-1.0 if _is_x(name) else 1.0 for name in schema.dimension_names], np.float32)
    mean = (np.asarray(features.mean) * sign)[places]
    scale = np.asarray(features.scale, np.float32)[places]
    vectors = ((np.asarray(features.raw) * sign)[:, places] - mean) / scale
    kinds = tuple(
        jlpm.JlpmFeature(group.name, group.size // max(len(group.times), 1), max(len(group.times), 1))
        for group in order
    )
    return jlpm.JlpmFeatures(
        len(places), mean.astype(np.float32), scale, kinds, (np.asarray(valid) != 0).astype(np.uint32),
        np.ascontiguousarray(vectors, np.float32),
    )  # fmt: skip


def _is_x(name: str) -> bool:
    """Whether a dimension is the x of a vector, by its name: ``left_foot velocity x``, ``... x +0.33s``."""
    words = name.split()
    return words[-1] == "x" or (len(words) > 1 and words[-2] == "x")


def export_layout(project: str | Path, out: Path, target: str, *, force: bool = False) -> Exported:
    """Write a project's database in the layout of a target, ``holden`` or ``jlpm``, with a manifest of licences.

    Raises:
        AmbuloError: files of these names are there that no earlier export left so, and ``force`` is not given.
    """
    from ambulo.database.database import Database
    from ambulo.matching.build import load_index

    refuse_project_folders(out, project)
    database = Database.open(project)
    features = load_index(database)[1].feature_set
    notes = []
    if target == "holden":
        names = ["character.bin", "database.bin", "features.bin"]
    else:
        name = "".join(c if c.isalnum() or c in "-_" else "_" for c in database.name) or "database"
        names = [f"{name}.{kind}" for kind in ("mmskeleton", "mmpose", "mmfeatures")]
    refuse_overwriting(out, [*names, "manifest.json"], force=force)
    out.mkdir(parents=True, exist_ok=True)
    if target == "holden":
        write_character(out / "character.bin", _holden_character(database))
        holden.write_database(out / "database.bin", holden_database(database))
        holden.write_features(out / "features.bin", holden_features(features))
        notes.append(
            f"{database.skeleton.joint_count} bones: the C++ code names its 23 bones in an enum; change it to those "
            "of manifest.json. character.bin is a body of capsules that is bound to these"
        )
        notes.append(f"trained models are not written: {_WHY_NO_MODELS[target]}; build the C++ code with LMM off")
    else:
        jlpm.write_skeleton(out / names[0], jlpm_skeleton(database))
        jlpm.write_poses(out / names[1], jlpm_poses(database))
        jlpm.write_features(out / names[2], jlpm_features(features, database.valid))
        notes.append("name the features of the Motion Matching Data asset as the manifest lists them, in that order")
    licences = licences_of(database)
    if any(use.non_commercial for use in licences):
        notes.append("contains NON-COMMERCIAL motion: not for products that are sold")
    if not licences or any(not use.licence.strip() for use in licences):
        notes.append("the licence of some of the motion is UNKNOWN: find out what it allows before you pass this on")
    manifest = {
        "format": f"ambulo {target}",
        "ambulo": __version__,
        "database": {"name": database.name, "digest": database.digest, "frames": database.frame_count},
        "rate": database.rate,
        "axes": AXES["unity" if target == "jlpm" else "onnx"].describe()
        | {"quaternion_order": "w, x, y, z" if target == "holden" else "x, y, z, w"},
        "bones": list(database.skeleton.names),
        "features": [group.name for group in sorted(features.schema.groups, key=lambda g: g.joint >= 0)]
        if target == "jlpm"
        else list(features.schema.dimension_names),
        "licences": [msgspec.to_builtins(use) for use in licences],
        "non_commercial": forbids_sale(licences),
        "notes": notes,
        "files": {name: hashlib.sha256((out / name).read_bytes()).hexdigest() for name in names},
    }
    for path in leftovers(out, [*names, "manifest.json"]):
        path.unlink()
    write_whole(out / "manifest.json", json.dumps(manifest, indent=1).encode() + b"\n")
    return Exported(
        target=target, controller="mm", folder=str(out), characters=0,
        files={name: (out / name).stat().st_size for name in [*names, "manifest.json"]}, operators=[], operator_count=0,
        state_size=0, differences={}, licences=licences, notes=notes,
    )  # fmt: skip
