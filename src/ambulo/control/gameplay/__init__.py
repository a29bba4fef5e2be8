"""The gameplay layer: what the game wants, as tags and numbers; it knows no clip and no database (S0.3, S0.4)."""
