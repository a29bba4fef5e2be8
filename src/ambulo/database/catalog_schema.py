"""The tables and views of ``catalog.sqlite``, each with what it holds; the catalogue carries these words itself.

Names and columns of tables and views are stable: what is added comes as a new column at the end, or a new table.
"""

from __future__ import annotations

TABLES = """
CREATE TABLE sources(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, glob TEXT NOT NULL, licence TEXT NOT NULL, attribution TEXT NOT NULL);
CREATE TABLE takes(
    id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL REFERENCES sources(id), path TEXT NOT NULL,
    status TEXT NOT NULL CHECK(status IN ('used', 'excluded', 'failed')), reason TEXT NOT NULL,
    sha256 TEXT NOT NULL, bytes INTEGER NOT NULL, format TEXT NOT NULL,
    unit TEXT NOT NULL, metres_per_unit REAL, unit_guessed INTEGER, up TEXT NOT NULL, up_guessed INTEGER,
    frame_time REAL);
CREATE TABLE clips(
    id INTEGER PRIMARY KEY, take_id INTEGER REFERENCES takes(id), name TEXT NOT NULL UNIQUE,
    start_frame INTEGER NOT NULL, stop_frame INTEGER NOT NULL, start_time REAL NOT NULL, mirrored INTEGER NOT NULL,
    source TEXT NOT NULL, licence TEXT NOT NULL, attribution TEXT NOT NULL);
CREATE TABLE tags(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE ranges(
    id INTEGER PRIMARY KEY, clip_id INTEGER NOT NULL REFERENCES clips(id), tag_id INTEGER NOT NULL REFERENCES tags(id),
    start_frame INTEGER NOT NULL, stop_frame INTEGER NOT NULL, origin TEXT NOT NULL,
    priority INTEGER NOT NULL, bonus REAL NOT NULL);
CREATE TABLE numeric_channels(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT NOT NULL, description TEXT NOT NULL,
    minimum REAL, maximum REAL);
CREATE TABLE numbers(
    id INTEGER PRIMARY KEY, clip_id INTEGER NOT NULL REFERENCES clips(id),
    channel_id INTEGER NOT NULL REFERENCES numeric_channels(id), start_frame INTEGER NOT NULL,
    stop_frame INTEGER NOT NULL, start_value REAL NOT NULL, stop_value REAL NOT NULL, origin TEXT NOT NULL);
CREATE TABLE channels(
    name TEXT PRIMARY KEY, file TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL, unit TEXT NOT NULL,
    description TEXT NOT NULL);
CREATE TABLE notes(
    id INTEGER PRIMARY KEY, take_id INTEGER NOT NULL REFERENCES takes(id), code TEXT NOT NULL, message TEXT NOT NULL,
    warning INTEGER NOT NULL, line INTEGER, joint TEXT);
CREATE TABLE facts(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE documentation(name TEXT PRIMARY KEY, kind TEXT NOT NULL, description TEXT NOT NULL);
CREATE INDEX ranges_by_tag ON ranges(tag_id);
CREATE INDEX ranges_by_clip ON ranges(clip_id);
CREATE INDEX clips_by_take ON clips(take_id);
CREATE VIEW clip_list AS
    SELECT clips.id AS clip_id, clips.name AS clip, takes.path AS take, clips.mirrored, clips.start_frame,
        clips.stop_frame, (clips.stop_frame - clips.start_frame) / rate.value AS seconds, clips.licence,
        clips.attribution
    FROM clips LEFT JOIN takes ON takes.id = clips.take_id
    JOIN (SELECT CAST(value AS REAL) AS value FROM facts WHERE name = 'rate') AS rate;
CREATE VIEW range_list AS
    SELECT ranges.id AS range_id, tags.name AS tag, clips.name AS clip, clips.mirrored,
        clips.start_time + (ranges.start_frame - clips.start_frame) / rate.value AS start,
        clips.start_time + (ranges.stop_frame - clips.start_frame) / rate.value AS stop,
        (ranges.stop_frame - ranges.start_frame) / rate.value AS seconds, ranges.start_frame, ranges.stop_frame,
        ranges.origin, ranges.priority, ranges.bonus
    FROM ranges JOIN tags ON tags.id = ranges.tag_id JOIN clips ON clips.id = ranges.clip_id
    JOIN (SELECT CAST(value AS REAL) AS value FROM facts WHERE name = 'rate') AS rate;
CREATE VIEW number_list AS
    SELECT numbers.id AS number_id, numeric_channels.name AS channel, numeric_channels.unit, clips.name AS clip,
        clips.mirrored, clips.start_time + (numbers.start_frame - clips.start_frame) / rate.value AS start,
        clips.start_time + (numbers.stop_frame - clips.start_frame) / rate.value AS stop,
        numbers.start_value, numbers.stop_value, numbers.start_frame, numbers.stop_frame, numbers.origin
    FROM numbers JOIN numeric_channels ON numeric_channels.id = numbers.channel_id
    JOIN clips ON clips.id = numbers.clip_id
    JOIN (SELECT CAST(value AS REAL) AS value FROM facts WHERE name = 'rate') AS rate;
"""

DOCUMENTATION: dict[str, tuple[str, str]] = {
    "sources": ("table", "the [[sources]] of the project file, with their licences"),
    "takes": ("table", "every file that the project names: used, excluded or failed and why; how it was read"),
    "clips": ("table", "stretches of frames that follow each other; frames [start_frame, stop_frame) of the database"),
    "tags": ("table", "the names of all tags"),
    "ranges": (
        "table",
        "a tag on frames [start_frame, stop_frame) of the database; origin is file (NAME.tags.csv), folder, name, "
        "style, project or mirror; ranges may overlap",
    ),
    "numeric_channels": ("table", "the numbers that takes are annotated with, their units and limits"),
    "numbers": (
        "table",
        "a number on frames [start_frame, stop_frame), in a straight line from start_value to stop_value; where two of "
        "a channel overlap, the one with the higher id holds",
    ),
    "channels": ("table", "the arrays under frames/: one row a frame, safetensors"),
    "notes": ("table", "what was found odd or decided about takes"),
    "facts": ("table", "name, rate (frames a second), frames and layout version of the database"),
    "documentation": ("table", "this: what each table and view holds"),
    "clip_list": ("view", "clips with their take and their length in seconds"),
    "range_list": ("view", "tagged ranges with clip, tag, start and stop in seconds of the take"),
    "number_list": ("view", "numbers with clip, channel, unit, start and stop in seconds of the take"),
}
"""Table or view -> its kind and what it holds."""
