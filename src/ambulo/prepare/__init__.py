"""From a raw take to an annotated one: root bone, velocities, contacts, trims, glitches."""
