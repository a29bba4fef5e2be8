"""What a model does not know of a database: features, and clips that came, went or are not shown."""

from __future__ import annotations

import copy
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ambulo.control.project_settings import project_settings
from ambulo.errors import LearningError
from ambulo.learning.create import create_controller
from ambulo.learning.lmm_changes import (
    added_clips,
    age_note,
    left_out,
    name_left_out,
    refuse_only_left_out,
    refuse_other_features,
)
from ambulo.learning.lmm_requests import look_at_request


def without(manifest: Any, names: set[str]) -> Any:
    """A manifest of a training before those clips were there."""
    clips = [clip for clip in manifest.clips if clip.name not in names]
    return msgspec.structs.replace(manifest, clips=clips, database_digest="earlier")


def default_tags(settings: Any, *tags: str) -> Any:
    return replace(settings, search=replace(settings.search, default_tags=tags))


def test_only_the_features_that_changed_are_named(data: Any, model: Any) -> None:
    schema, manifest = data.index.feature_set.schema, model.manifest
    refuse_other_features(schema, manifest)
    groups = list(manifest.schema["groups"])

    def refused(groups: list[Any]) -> str:
        other = msgspec.structs.replace(manifest, schema=manifest.schema | {"groups": groups})
        with pytest.raises(LearningError) as caught:
            refuse_other_features(schema, other)
        assert caught.value.key == "features" and "train lmm" in str(caught.value.remedy)
        return caught.value.message.removeprefix("the model was trained with other features: ")

    first = groups[0]["name"]
    extra = groups[0] | {"name": "head position", "start": groups[-1]["stop"], "stop": groups[-1]["stop"] + 3}
    assert refused([*groups, extra]) == "head position went"
    assert refused([groups[0] | {"name": "head position"}, *groups[1:]]) == f"{first} came, head position went"
    at = next(place for place, group in enumerate(groups) if group["times"])
    times = [time + 0.1 for time in groups[at]["times"]]
    changed = [group | {"times": times} if place == at else group for place, group in enumerate(groups)]
    assert refused(changed) == f"{groups[at]['name']} has other times"


def test_a_controller_is_refused_by_the_feature_that_changed(project: Any, trained: Any, data: Any) -> None:
    features = data.index.feature_set
    schema = features.schema
    fewer = replace(schema, groups=tuple(group for group in schema.groups if not group.name.startswith("hips")))
    index = replace_features(data.index, replace(features, schema=fewer))
    with pytest.raises(LearningError, match=r"other features: hips velocity went \| train anew"):
        create_controller("lmm", data.database, index, models=project / "models")


def replace_features(index: Any, features: Any) -> Any:
    """The index with other features, for whoever looks at no more than these."""
    found = copy.copy(index)
    found.feature_set = features
    return found


def test_clips_that_are_left_out_are_named_with_why(data: Any, model: Any) -> None:
    database, index, settings = data.database, data.index, data.settings
    kinds = {tag: [clip for clip in database.clips if tag in clip.tags] for tag in database.tags}
    tag = next(tag for tag, clips in kinds.items() if 0 < len(clips) < len(database.clips) // 2)
    others = [clip for clip in database.clips if tag not in clip.tags]
    new = [kinds[tag][0], others[0]]
    manifest = without(model.manifest, {clip.name for clip in new})
    assert added_clips(manifest, database) == sorted(new, key=lambda clip: clip.start)
    assert left_out(database, index, settings, (), new) == {}
    reasons = left_out(database, index, default_tags(settings, tag), (), new)
    assert reasons == {others[0].name: f"it has no tag {tag!r}, which [play] default_tags ask for"}
    refuse_only_left_out(new, reasons)  # the other one can be learned
    with pytest.raises(LearningError) as caught:
        refuse_only_left_out(others[:1], reasons)
    assert others[0].name in caught.value.message and repr(tag) in caught.value.message
    assert "--tags asks for" in name_left_out(left_out(database, index, settings, (tag,), new))


def test_going_on_is_refused_or_told_before_it_begins(project: Path, trained: Any, tmp_path: Path, data: Any) -> None:
    own = Path(shutil.copytree(project, tmp_path / "walker"))
    tag = "strafe_left"
    has = next(clip for clip in data.database.clips if tag in clip.tags)
    has_not = next(clip for clip in data.database.clips if tag not in clip.tags)
    file, manifest = own / "ambulo.toml", own / "models" / "lmm" / "manifest.json"
    known = json.loads(manifest.read_text())
    assert look_at_request(own, finetune=True) == []  # nothing was added: whoever opens the data refuses that
    written = re.sub(r"(?m)^default_tags = .*\n", "", file.read_text())
    file.write_text(written.replace("[play]\n", f'[play]\ndefault_tags = ["{tag}"]\n'))
    assert project_settings(own).search.default_tags == (tag,)
    for new, told in (((has_not,), None), ((has, has_not), [has_not.name])):
        clips = [clip for clip in known["clips"] if clip["name"] not in [one.name for one in new]]
        manifest.write_text(json.dumps(known | {"clips": clips}))
        if told is None:
            with pytest.raises(LearningError, match=f"left out of what was added: {has_not.name}") as caught:
                look_at_request(own, finetune=True)
            assert caught.value.key == "finetune" and "[play]" in str(caught.value.remedy)
        else:
            assert [name in note for note in look_at_request(own, finetune=True) for name in told] == [True]


def test_a_note_names_what_was_added_and_how_to_go_on(data: Any, model: Any) -> None:
    database, index, settings, manifest = data.database, data.index, data.settings, model.manifest
    again = msgspec.structs.replace(manifest, database_digest="built by another version")
    assert age_note(manifest, database, index, settings) is None
    assert age_note(again, database, index, settings) is None
    new = next(clip for clip in database.clips if not clip.mirrored)
    note = age_note(without(manifest, {new.name}), database, index, settings)
    assert note is not None and new.name in note and "`ambulo train lmm PROJECT --finetune`" in note
    named = msgspec.structs.replace(without(manifest, {new.name}), name="lmm_b")
    assert "--name lmm_b --finetune" in str(age_note(named, database, index, settings))
    gone = msgspec.structs.replace(again, clips=[*again.clips, msgspec.structs.replace(again.clips[0], name="old")])
    note = age_note(gone, database, index, settings)
    assert note is not None and "old, no longer in the database" in note and "--finetune" not in note
