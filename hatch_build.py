"""Puts the built front-end into wheels: runs ``web/build.py`` where the static files are missing or stale.

A source distribution carries ``web/`` and builds when a wheel is made of it. An editable install builds where it can
and only warns where it cannot: everything but ``ambulo play`` and the HTML report's player works without.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class FrontEndHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the front-end before files are collected."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node from PyPI, where the machine has none that is new enough and there is something to build."""
        script = self._script()
        if self.target_name != "wheel" or script is None or script.up_to_date():
            return []
        try:
            script.find_node(install=False)
        except script.BuildError:
            return [script.NODE_PACKAGE]
        return []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build; refuse to make an ordinary wheel without the page."""
        if self.target_name != "wheel":
            return
        script = self._script()
        if script is None:  # a source tree without web/, its page already built
            return
        try:
            script.build(install=False)
        except script.BuildError as error:
            if version != "editable":
                raise
            self.app.display_warning(f"the studio's page was not built: {error}")

    def _script(self) -> ModuleType | None:
        path = Path(self.root) / "web" / "build.py"
        if not path.is_file():
            return None
        spec = importlib.util.spec_from_file_location("ambulo_web_build", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module
