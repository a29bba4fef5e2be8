"""What a project's character shows while nobody asks for anything in particular: the ``[play]`` table."""

from __future__ import annotations

import msgspec

OPT_IN_TAGS = (
    *("jump", "jumping", "hop", "hopping", "crouch", "crouching", "crawl", "crawling", "climb", "climbing"),
    *("slope", "slope_up", "slope_down", "stairs", "steps", "terrain"),
    *("sneak", "sneaking", "fall", "falling", "swim", "swimming", "fly", "flying"),
    *("death", "dead", "die", "dying", "hit", "hit_react", "knockdown", "attack"),
    *("bite", "howl", "eat", "eating", "fetch", "pose", "rest_pose", "t_pose"),
    *("dance", "dancing", "kick", "kicking", "punch", "punching", "slash", "fight", "fighting", "sit", "sitting"),
)
"""What a character that is only asked to go somewhere should not do by itself, as data sets name it."""


class PlaySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tags that hold for whoever plays the project. Changing them rebuilds nothing.

    Attributes:
        default_tags: required while an intent requires no tags.
        opt_in_tags: frames with such a tag are shown only while an intent asks for it, or where there are no others.
            ``junk`` is never shown.
        fallback: folders of other built projects, relative to the project file, in the order in which they answer what
            this one cannot (S0.14). They have the same skeleton, rate and features.
    """

    default_tags: tuple[str, ...] = ()
    opt_in_tags: tuple[str, ...] = OPT_IN_TAGS
    fallback: tuple[str, ...] = ()
