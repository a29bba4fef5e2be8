"""A film has the size, rate and length asked for; without the extra the error says what to install."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ambulo.control.recording import Recording
from ambulo.errors import AmbuloError, MotionError
from ambulo.export.video import write_recording_video, write_video


def test_a_film_of_a_recording(recording: Recording, tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    seen: list[tuple[int, int]] = []
    path = write_recording_video(
        recording,
        tmp_path / "films" / "motion.mp4",
        size=(160, 96),
        video_rate=20.0,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert [entry.name for entry in path.parent.iterdir()] == ["motion.mp4"]
    reader = ffmpeg.read_frames(str(path))
    facts = next(reader)
    assert facts["size"] == (160, 96)
    assert facts["fps"] == pytest.approx(20.0)
    frames = [np.frombuffer(data, np.uint8).reshape(96, 160, 3) for data in reader]
    assert len(frames) == 40
    assert seen[-1] == (40, 40)
    # A figure stands in the middle, and the ground moves below it.
    middle = frames[-1][30:70, 70:90].astype(int)
    corner = frames[-1][:10, :10].astype(int)
    assert corner.mean() - middle.min() > 60
    assert np.abs(frames[5].astype(int) - frames[35]).max() > 40


def test_without_the_extra_it_says_what_to_install(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(AmbuloError, match="not installed") as caught:
        write_recording_video(recording, tmp_path / "m.mp4")
    remedy = str(caught.value.remedy)
    assert "pip install 'ambulo[video]'" in remedy and "pip install -e '.[video]'" in remedy
    assert list(tmp_path.iterdir()) == []


def test_wrong_requests_are_refused_before_any_work(recording: Recording, tmp_path: Path) -> None:
    pytest.importorskip("imageio_ffmpeg")
    p = recording.global_positions
    with pytest.raises(AmbuloError, match="MP4"):
        write_video(tmp_path / "m.gif", recording.skeleton, p, 60.0)
    with pytest.raises(AmbuloError, match="even"):
        write_video(tmp_path / "m.mp4", recording.skeleton, p, 60.0, size=(161, 96))
    with pytest.raises(MotionError, match="needs positions"):
        write_video(tmp_path / "m.mp4", recording.skeleton, p[..., :4, :], 60.0)
    assert list(tmp_path.iterdir()) == []


def test_a_failing_encoder_leaves_no_file(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")

    def broken(*_: object, **__: object) -> object:
        raise OSError("no space left")

    monkeypatch.setattr(ffmpeg, "write_frames", broken)
    with pytest.raises(AmbuloError, match="no space left"):
        write_recording_video(recording, tmp_path / "m.mp4", size=(64, 64))
    assert list(tmp_path.iterdir()) == []


def test_importing_pictures_needs_no_extra() -> None:
    code = "import sys; import ambulo.export.pictures, ambulo.export.page; print('imageio_ffmpeg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
