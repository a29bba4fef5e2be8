"""The ``ambulo`` command: a registry of verbs, one module each, imported only when the verb is used.

A verb's module has

- ``Arguments``: a dataclass; its fields are the options (see tyro), its docstring is the help. It has ``json: bool``.
- ``run(arguments)``: does the work and returns the result, a value that msgspec can write as JSON, or None.
- ``show(result)``: prints the result for a person. Not called with ``--json``.
- ``READS``, if it has one: the field of the arguments that names the project whose database is read; where that is
  stale, it is said (:mod:`ambulo.cli.stale`).
- ``exit_code(result)``, if it has one: the exit code, where a result that is no refusal is still no success.

Progress goes to stderr (:mod:`ambulo.cli.progress`), results to stdout. Exit codes: 0 done, 1 done but with findings
(``check``), 2 refused (an :class:`~ambulo.errors.AmbuloError`, or wrong arguments), 130 interrupted.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stderr
from importlib import import_module
from itertools import groupby

from ambulo.errors import AmbuloError, nearest_names

VERBS: dict[str, str] = {
    "new": "make a project: from a folder of motion capture, or with the embedded takes",
    "fetch": "fetch a known data set, its licence accepted, and make a project of it",
    "check": "look for what is wrong in takes: rates, T-poses, pops, floors, sliding feet",
    "repair": "mend spikes, floor and feet of a take, into a new file",
    "stylise": "make a take that limps, leans or strides of one that does not",
    "build": "build the database of a project, or bring it up to date",
    "autotag": "propose tags for takes that have none, learned from those that have",
    "tag": "add, remove and list the tags of a take",
    "status": "say what of a project's database is stale and why, file by file",
    "report": "say what a database covers: speeds and turns, tags, transitions, duplicates, memory",
    "query": "find the stretches of a database that answer a question, or ask its catalogue in SQL",
    "info": "say what a project's database holds, and whether it is up to date",
    "train": "train a model on a project: learned motion matching",
    "simulate": "run a controller along a script, and write motion, measures and a report",
    "export": "write a controller for other engines: ONNX, Unreal, Unity, Godot, web, C++",
    "convert": "write takes in another format: one file, or a folder and all below",
    "retarget": "put a take on another skeleton",
    "pose": "pose a body by a few points: one pose, or a take from sparse trackers or key points",
    "picture": "draw many frames of a take or clip side by side, as PNG",
    "play": "steer the character in the browser",
}
"""Verb -> one line of help; the module is ``ambulo.cli.VERB``."""


_FRAME = frozenset("-\u2500\u2570\u256f")


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names that the terminal cannot show are no reason to fail
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            code = run(sys.argv[1:] if argv is None else argv)
        finally:  # what was printed goes out here; at Python's own end a failure would be a traceback
            sys.stdout.flush()
    except BrokenPipeError:
        code = _reader_left()
    sys.exit(code)


def run(argv: Sequence[str]) -> int:
    """Run the command line. Returns the exit code; arguments that cannot be parsed raise SystemExit(2)."""
    verb, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    if verb in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if verb == "--version":
        from ambulo import __version__

        print(f"ambulo {__version__}")
        return 0
    as_json = "--json" in rest
    try:
        if verb not in VERBS:
            raise AmbuloError(f"there is no verb {verb!r}; {nearest_names(verb, VERBS)}", remedy="see `ambulo --help`")
        return _run_verb(verb, rest)
    except AmbuloError as error:
        return _refuse(verb, error, as_json)
    except BrokenPipeError:
        return _reader_left()
    except MemoryError as error:
        refused = AmbuloError(f"there is not enough memory{': ' if str(error) else ''}{error}", remedy="ask for less")
        return _refuse(verb, refused, as_json)
    except OSError as error:
        # What the system refuses (permissions, a full disk, too many open files) may come up anywhere.
        refused = AmbuloError(f"the system refuses: {error.strerror or error}", path=error.filename)
        return _refuse(verb, refused, as_json)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _reader_left() -> int:
    """The reader of our output left (`ambulo info | head`); Python must not complain when it flushes at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 141


def _refuse(verb: str, error: AmbuloError, as_json: bool) -> int:
    """Say why a verb was refused. Returns the exit code."""
    if as_json:
        try:
            _print_json({"error": {"kind": type(error).__name__, "message": error.message, **error.facts()}})
        except OSError as refused:  # our own output cannot be written; Python must not fail again at its end
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            print(f"ambulo {verb}: {_lines(error)}\nambulo: stdout: {refused.strerror}", file=sys.stderr)
    else:
        print(f"ambulo {verb}: {_lines(error)}" if verb in VERBS else f"ambulo: {_lines(error)}", file=sys.stderr)
    return 2


def _run_verb(verb: str, rest: Sequence[str]) -> int:
    import tyro

    module = import_module(f"ambulo.cli.{verb}")
    shown = io.StringIO()
    try:
        # With --json an error must not be a box of text on either stream.
        with redirect_stderr(shown) if "--json" in rest else nullcontext():
            arguments = tyro.cli(
                module.Arguments,
                prog=f"ambulo {verb}",
                description=module.Arguments.__doc__,
                args=list(rest),
                config=(tyro.conf.FlagCreatePairsOff, tyro.conf.PositionalRequiredArgs),
            )
    except SystemExit as end:
        if end.code and "--json" in rest:
            raise AmbuloError(_first_sentence(shown.getvalue()), remedy=f"see `ambulo {verb} --help`") from None
        raise
    from ambulo.cli.stale import telling_stale

    with telling_stale(getattr(arguments, module.READS) if hasattr(module, "READS") else None):
        result = module.run(arguments)
    if arguments.json:
        if result is not None:
            _print_json(result)
    else:
        module.show(result)
    tell = getattr(module, "exit_code", None)
    return 0 if tell is None else int(tell(result))


def _first_sentence(box: str) -> str:
    """What tyro's box of text says below its title. Where a terminal has no frames, the title is a paragraph itself."""
    framed = box.lstrip().startswith("\u256d")
    lines = [line.strip("\u2502 ") for line in box.splitlines()[framed:]]
    paragraphs = [" ".join(group) for is_text, group in groupby(lines, lambda line: not set(line) <= _FRAME) if is_text]
    return next(iter(paragraphs[not framed :]), "the arguments cannot be used")


def _print_json(value: object) -> None:
    import msgspec

    try:
        text = msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=1).decode()
    except UnicodeEncodeError:  # a path that is no UTF-8; as \\udcNN it can still be opened
        text = json.dumps(msgspec.to_builtins(value, enc_hook=str), indent=1)
    print(text, flush=True)


def _lines(error: AmbuloError) -> str:
    """The error's text with its remedy on a line of its own."""
    return str(error).replace(" | ", "\n  -> ", 1) if error.remedy else str(error)


def _overview() -> str:
    width = max(map(len, VERBS))
    verbs = "\n".join(f"  {verb:<{width}}  {text}" for verb, text in VERBS.items())
    return (
        "usage: ambulo VERB [OPTIONS]\n\n"
        "A folder of motion capture in, a character that you can direct out.\n\n"
        f"{verbs}\n\n"
        "`ambulo VERB --help` tells more. Every verb takes --json: one object on stdout, progress on stderr."
    )
