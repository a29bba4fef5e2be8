"""Make a take that limps of one that does not, and let a classifier find out which of some new takes limp.

The takes are the embedded ones. Nothing that is found is applied: it is printed, with the confidence.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from ambulo import Database
from ambulo.export.pictures import contact_sheet
from ambulo.motion.kinematics import forward_motion
from ambulo.prepare.pipeline import prepare_take
from ambulo.prepare.stylise.arm_swing import ArmSwing
from ambulo.prepare.stylise.limp import Limp
from ambulo.prepare.stylise.style import Operator, stylise
from ambulo.synthesis.performance import synthesize

OUT = Path(sys.argv[1] if len(sys.argv) > 1 else "build/examples")


def main() -> None:
    limp = [Operator(limp=Limp(side="left", amount=0.8)), Operator(arm_swing=ArmSwing(amount=-0.3))]
    walks = [replace(synthesize(seed, 1.0)[0].motion, name=f"walk_{seed}") for seed in range(4)]
    made = []
    for walk in walks:
        motion, report = stylise(walk, limp)
        made.append(replace(motion, name=f"{walk.name}@limp"))  # held out together with what it was made of
        before, after = (100 * slide for slide in report.slide)
        print(
            f"{walk.name}: standing toes slide {before:.1f} -> {after:.1f} cm/s, hips sank {100 * report.sunk:.1f} cm"
        )
    pose = forward_motion(made[0])
    OUT.mkdir(parents=True, exist_ok=True)
    picture = contact_sheet(made[0].skeleton, pose.positions, OUT / "limp.png", columns=8, rows=1)
    print(f"picture: {picture}")
    try:
        import sklearn  # noqa: F401
    except ModuleNotFoundError:
        print("auto-tagging needs scikit-learn: pip install 'ambulo[learn]'")
        return
    from ambulo.learning.auto_tagging import held_out, tagged_clips, train

    # Three of four walks, and what was made of them, are tagged; the last of each is new.
    known = [(motion, "healthy") for motion in walks[:3]] + [(motion, "injured") for motion in made[:3]]
    database = Database.from_clips(
        [prepare_take(motion) for motion, _ in known], [[(None, None, tag)] for _, tag in known]
    )
    tags = ("healthy", "injured")
    clips = tagged_clips(database, tags)
    for score in held_out(clips, tags, exclusive=[tags], folds=3):
        print(f"{score.tag}: F1 {score.f1:.2f} per frame, in clips held out")
    tagger = train(clips, tags, exclusive=[tags])
    fresh = [(prepare_take(walks[3]), "healthy"), (prepare_take(made[3]), "injured")]
    unseen = Database.from_clips([clip for clip, _ in fresh], [[(None, None, tag)] for _, tag in fresh])
    for clip, (_, truth) in zip(tagged_clips(unseen, tags), fresh, strict=True):
        for entry in tagger.propose(clip.windows, unseen.rate)[:3]:
            start, stop = entry.start / unseen.rate, entry.stop / unseen.rate
            print(f"  a take that is {truth}: {entry.tag} {start:.1f} to {stop:.1f} s, {entry.confidence:.0%}")


if __name__ == "__main__":
    main()
