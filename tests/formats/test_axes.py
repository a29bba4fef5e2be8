from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ambulo.errors import FormatError
from ambulo.formats import axes
from ambulo.maths import quaternions

NAMES = ("Hips", "LeftFoot", "RightFoot", "Spine", "Head")
STANDING = np.array([[0, 0.95, 0], [0.1, 0.05, 0], [-0.1, 0.05, 0], [0, 1.2, 0], [0, 1.6, 0]])
SPAN = 2.25


def unit(up: str) -> np.ndarray:
    vector = np.zeros(3)
    vector["XYZ".index(up[1])] = 1.0 if up[0] == "+" else -1.0
    return vector


def from_y_up(positions: np.ndarray, up: str) -> np.ndarray:
    """Positions with +Y up seen in a file's axes."""
    return axes.convert_vectors(positions, axes.inverse_up(up)).astype(np.float64)


@pytest.mark.parametrize("up", axes.UP_AXES)
def test_conversions_are_rotations_that_take_up_to_y(up: str) -> None:
    matrix = axes.convert_vectors(np.eye(3), up).T
    np.testing.assert_array_equal(matrix @ matrix.T, np.eye(3))
    assert np.linalg.det(matrix) == 1.0
    np.testing.assert_array_equal(axes.convert_vectors(unit(up), up), [0, 1, 0])
    np.testing.assert_array_equal(
        axes.convert_vectors(axes.convert_vectors(np.eye(3), up), axes.inverse_up(up)), np.eye(3)
    )


@pytest.mark.parametrize("up", axes.UP_AXES)
@given(st.integers(0, 2**32 - 1))
def test_rotations_turn_converted_vectors_as_they_turned_the_originals(up: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    q = quaternions.normalize(random.normal(size=(5, 4)))
    v = random.normal(size=(5, 3))
    turned = axes.convert_vectors(quaternions.rotate(q, v), up)
    np.testing.assert_allclose(
        quaternions.rotate(axes.convert_rotations(q, up), axes.convert_vectors(v, up)), turned, atol=1e-5
    )


@pytest.mark.parametrize(
    ("said", "up"),
    [("y", "+Y"), ("+Y", "+Y"), ("-y", "-Y"), ("Z", "+Z"), ("-Z", "-Z"), ("z-up", "+Z"), ("Z up", "+Z"), ("x", "+X")],
)
def test_names(said: str, up: str) -> None:
    assert axes.parse_up(said) == up


@pytest.mark.parametrize("said", ["", "w", "up", "YZ", "++Y"])
def test_no_such_axis(said: str) -> None:
    with pytest.raises(FormatError) as caught:
        axes.parse_up(said)
    assert caught.value.key == "up"


@pytest.mark.parametrize("up", ["+Y", "-Y", "+Z", "-Z"])
def test_a_standing_body_shows_its_up_axis(up: str) -> None:
    positions = from_y_up(STANDING, up)
    guess = axes.guess_up(NAMES, positions, np.repeat(positions[None], 5, axis=0), SPAN)
    assert guess.up == up
    assert guess.sure


@pytest.mark.parametrize("up", ["+Y", "+Z"])
def test_poses_decide_where_the_rest_pose_lies_along_x(up: str) -> None:
    rest = STANDING[:, [1, 0, 2]]
    guess = axes.guess_up(NAMES, rest, from_y_up(STANDING, up)[None], SPAN)
    assert guess.up == up
    assert guess.sure


@pytest.mark.parametrize("up", ["+Y", "+Z"])
def test_a_take_spent_lying_down(up: str) -> None:
    # Head along +Z, somewhere on the floor.
    lying = STANDING[:, [0, 2, 1]] + [0.4, 0.1, 0.7]
    guess = axes.guess_up(NAMES, from_y_up(STANDING, up), np.repeat(from_y_up(lying, up)[None], 9, axis=0), SPAN)
    assert guess.up == up


def test_a_root_turned_upright_in_every_frame_beats_the_rest_pose() -> None:
    guess = axes.guess_up(NAMES, STANDING, np.repeat(from_y_up(STANDING, "+Z")[None], 9, axis=0), SPAN)
    assert guess.up == "+Z"


def test_an_unknown_body_is_taken_as_y_up_and_unsure() -> None:
    positions = from_y_up(STANDING, "+Z")
    guess = axes.guess_up(("a", "b", "c", "d", "e"), positions, positions[None], SPAN)
    assert guess.up == "+Y"
    assert not guess.sure
    assert axes.guess_up(NAMES, STANDING, np.zeros((0, 5, 3)), SPAN).up == "+Y"


@pytest.mark.parametrize("up", ["+Y", "+Z"])
def test_a_zero_pose_upside_down_against_the_poses_says_nothing(up: str) -> None:
    """With all rotations zero many characters' rigs are no pose at all; who leans back must not come to lie."""
    sitting = STANDING + np.array([[0, -0.5, 0], [0, 0, 0.4], [0, 0, 0.4], [0, -0.5, 0], [0, -0.5, -0.5]])
    poses = np.repeat(from_y_up(sitting, up)[None], 9, axis=0)
    guess = axes.guess_up(NAMES, from_y_up(STANDING * [1, -1, 1], up), poses, SPAN)
    assert guess.up == up


@pytest.mark.parametrize("up", ["+Y", "+Z"])
def test_a_trunk_on_four_feet_is_not_up(up: str) -> None:
    names = ("Hips", "Back_Foot_L", "Back_Foot_R", "Front_Foot_L", "Front_Foot_R", "Chest", "Head")
    dog = np.array(
        [[0, 0.6, -0.4], [0.1, 0, -0.4], [-0.1, 0, -0.4], [0.1, 0, 0.3], [-0.1, 0, 0.3], [0, 0.6, 0.2], [0, 0.6, 0.8]]
    )
    zero = dog * [1.0, 0.1, 1.0]  # along its trunk, as in the zero pose of a glTF character's BVH
    guess = axes.guess_up(names, from_y_up(zero, up), np.repeat(from_y_up(dog, up)[None], 9, axis=0), SPAN)
    assert guess.up == up
