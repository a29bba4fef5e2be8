"""The feature schema: 27 dimensions by default, and clear refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ambulo.database.feature_spec import DEFAULT_FEATURES, JOINT_KINDS, TRAJECTORY_KINDS, FeatureSpec
from ambulo.errors import DatabaseError, QueryError, SkeletonError
from ambulo.matching.schema import KINDS, FeatureSchema
from ambulo.motion.skeleton import Skeleton


def skeleton(**roles: int) -> Skeleton:
    names = ("root", "Hips", "LeftFoot", "RightFoot")
    return Skeleton(names, np.array([-1, 0, 1, 1]), np.zeros((4, 3)), roles=roles)


FULL = skeleton(hips=1, left_foot=2, right_foot=3)


def test_the_project_file_knows_the_same_kinds():
    assert {name for name, kind in KINDS.items() if kind.of_joint} == set(JOINT_KINDS)
    assert {name for name, kind in KINDS.items() if kind.of_time} == set(TRAJECTORY_KINDS)


def test_the_default_has_27_dimensions_with_the_published_weights():
    schema = FeatureSchema.compile(DEFAULT_FEATURES, FULL, 60.0)
    assert schema.dimension_count == 27
    assert [(g.name, g.size, g.weight) for g in schema.groups] == [
        ("left_foot position", 3, 0.75),
        ("right_foot position", 3, 0.75),
        ("left_foot velocity", 3, 1.0),
        ("right_foot velocity", 3, 1.0),
        ("hips velocity", 3, 1.0),
        ("trajectory_position", 6, 1.0),
        ("trajectory_direction", 6, 1.5),
    ]
    assert schema.groups[-1].frames == (20, 40, 60)
    assert [group.joint for group in schema.groups] == [2, 3, 2, 3, 1, -1, -1]
    assert len(set(schema.dimension_names)) == 27
    assert schema.dimension_names[0] == "left_foot position x"
    assert schema.dimension_names[17] == "trajectory_position x +0.67s"


def test_times_become_frames_of_the_rate():
    assert FeatureSchema.compile(DEFAULT_FEATURES, FULL, 30.0).groups[-1].frames == (10, 20, 30)


def test_a_joint_may_be_named_by_its_own_name():
    schema = FeatureSchema.compile([FeatureSpec("position", "RightFoot")], skeleton(), 60.0)
    assert schema.groups[0].joint == 3


def test_a_missing_role_is_named_with_a_remedy():
    with pytest.raises(SkeletonError, match="left_foot") as caught:
        FeatureSchema.compile(DEFAULT_FEATURES, skeleton(hips=1, right_foot=3), 60.0)
    assert caught.value.joint == "left_foot" and "[roles]" in str(caught.value.remedy)
    assert "did you mean" in str(caught.value) and "'LeftFoot'" in str(caught.value)


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        ([], "is empty"),
        ([FeatureSpec("positon", "hips")], "did you mean 'position'"),
        ([FeatureSpec("position")], "needs a joint"),
        ([FeatureSpec("trajectory_position")], "needs times"),
        ([FeatureSpec("position", "hips", times=(1.0,))], "takes no times"),
        ([FeatureSpec("position", "hips", -1.0)], "finite and not negative"),
        ([FeatureSpec("position", "hips", float("nan"))], "finite and not negative"),
        ([FeatureSpec("trajectory_position", times=(float("inf"),))], "finite seconds"),
        ([FeatureSpec("position", "hips"), FeatureSpec("position", "hips")], "listed twice"),
    ],
)
def test_refuses_specs_that_make_no_sense(specs, message):
    with pytest.raises(QueryError, match=message):
        FeatureSchema.compile(specs, FULL, 60.0)


def test_every_kind_compiles_to_its_axes():
    for name, kind in KINDS.items():
        channel = "fatigue" if name == "number" else ""
        spec = FeatureSpec(
            name, "hips" if kind.of_joint else "", times=(0.5, 1.0) if kind.of_time else (), channel=channel
        )
        schema = FeatureSchema.compile([spec], FULL, 60.0)
        assert schema.dimension_count == len(kind.axes) * (2 if kind.of_time else 1)
        assert len(schema.dimension_names) == schema.dimension_count


def test_stored_as_json_and_back():
    schema = FeatureSchema.compile(DEFAULT_FEATURES, FULL, 60.0)
    again = FeatureSchema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    with pytest.raises(DatabaseError, match="feature schema cannot be read"):
        FeatureSchema.from_dict({"groups": [{"name": "x"}], "rate": 60})


def test_an_unknown_group_lists_the_nearest():
    with pytest.raises(QueryError, match="'hips velocity'"):
        FeatureSchema.compile(DEFAULT_FEATURES, FULL, 60.0).group("hip velocity")
