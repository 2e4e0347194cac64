"""The measures of the library: how many names, modules and folders it has, and how they hang together.

    python tools/house.py [TREE ...]

A tree is a folder that has `batprotocol/`; by default, this one. With several trees, such as a clone of an earlier
commit, each has a column. Commands of click may have many parameters, because click passes each option as one; other
functions may not. `--list` lists these functions, and the names of classes that several modules define.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "batprotocol"
MOST_PARAMETERS = 10
SMALL = 100
CLICK = {"argument", "command", "group", "option"}
PROTOCOLS = {
    "Batsim 5": ("model.", "wire.", "builder.", "conversation.", "edc."),
    "Batsim 1 to 4": ("legacy.json.",),
    "text": ("legacy.text.",),
    "both older ones": ("legacy.",),
    "FaST": ("fast.",),
}
"""The packages of each protocol. They have the same plan, so their classes have the same names."""
FIRST_STEP = ("simulate", "examples/easy_backfilling.py:EASY")


class Tree:
    """The modules of a package.

    Args:
        root: the folder that has the package.
        package: its name.
    """

    def __init__(self, root: Path, package: str = PACKAGE) -> None:
        self.root, self.package = root, package
        self.paths = [path for path in sorted((root / package).rglob("*.py")) if "stubs" not in path.parts]
        self.modules = {self.name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in self.paths}

    def name_of(self, path: Path) -> str:
        """The full name of the module in a file."""
        return ".".join(path.relative_to(self.root).with_suffix("").parts).removesuffix(".__init__")

    def importers(self) -> Mapping[str, set[str]]:
        """For each module, those that import it; packages that only show its names count, too."""
        found: dict[str, set[str]] = defaultdict(set)
        for name, tree in self.modules.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                    for each in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                        if each in self.modules:
                            found[each].add(name)
                elif isinstance(node, ast.Import):
                    for alias in node.names:
                        if alias.name in self.modules:
                            found[alias.name].add(name)
        return found

    def exported(self) -> int:
        """How many names stand in `__all__`."""
        return sum(
            len(node.value.elts)
            for tree in self.modules.values()
            for node in tree.body
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)
            and isinstance(node.value, (ast.List, ast.Tuple))
        )

    def repeated_classes(self, siblings: bool = True) -> list[tuple[str, int]]:
        """The public names of classes that two modules define, or more.

        Args:
            siblings: also names that each module has for another protocol, as `Message` of today and of Batsim 1.
        """
        homes: dict[str, list[str]] = defaultdict(list)
        for module, tree in self.modules.items():
            for node in tree.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    homes[node.name].append(module)
        found = [(name, len(modules)) for name, modules in homes.items() if len(modules) > 1]
        return [
            (name, count)
            for name, count in sorted(found, key=lambda pair: -pair[1])
            if siblings or not self._are_of_protocols(homes[name])
        ]

    def _are_of_protocols(self, modules: list[str]) -> bool:
        """Whether each module is of another protocol."""
        found = [
            next((name for name, starts in PROTOCOLS.items() if f"{module}.".startswith(starts)), "")
            for module in (module.removeprefix(f"{self.package}.") for module in modules)
        ]
        return "" not in found and len(set(found)) == len(found)

    def functions(self) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for name, tree in self.modules.items():
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    yield name, node

    def wide(self) -> list[str]:
        """The functions with more than ten parameters, but for commands of click."""
        return [
            f"{module}.{node.name} ({count})"
            for module, node in self.functions()
            if (count := _parameters(node)) > MOST_PARAMETERS and not _is_command(node)
        ]

    def splats(self) -> int:
        """How many calls take apart a list of several values that they write down: `*(a, b)`."""
        return sum(
            isinstance(part, ast.Starred) and isinstance(part.value, (ast.Tuple, ast.List)) and len(part.value.elts) > 1
            for tree in self.modules.values()
            for node in ast.walk(tree)
            if isinstance(node, ast.Call)
            for part in node.args
        )

    def loaded(self, words: tuple[str, ...]) -> str:
        """How many modules of the package a command of `batproto` loads."""
        code = (
            "import sys, atexit\n"
            f"ours = lambda: sum(name.split('.')[0] == {self.package!r} for name in sys.modules)\n"
            "atexit.register(lambda: print(ours(), file=sys.stderr))\n"
            f"sys.argv[1:] = {list(words)!r}\n"
            f"from {self.package}.cli.main import main; main()"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=self.root, capture_output=True, text=True, check=False, timeout=300
        )
        return done.stderr.split()[-1] if done.returncode == 0 and done.stderr else "?"

    def measures(self) -> dict[str, str]:
        """All measures, by their names."""
        lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in self.paths)
        folders = {path.parent for path in self.paths}
        importers = self.importers()
        alone = [name for name in self.modules if len(importers[name]) == 1]
        sizes = {self.name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in self.paths}
        leaves = [name for name in self.modules if name.rpartition(".")[2].startswith("_") and "__" not in name]
        top = {path.stem if path.is_file() else path.name for path in (self.root / self.package).iterdir()}
        names = {name for name in top if f"{self.package}.{name}" in self.modules and not name.startswith("_")}
        repeated = self.repeated_classes()
        return {
            "public names at the top": str(len(names)),
            "modules": str(len(self.modules)),
            "folders": str(len(folders)),
            "lines": str(lines),
            "lines a module": str(round(lines / len(self.modules))),
            "modules with exactly one importer": str(len(alone)),
            f"... below {SMALL} lines": str(sum(sizes[name] < SMALL for name in alone)),
            "private modules": str(len(leaves)),
            "names in `__all__`": str(self.exported()),
            "class names in two modules or more": str(len(repeated)),
            "... of other things than sibling protocols": str(len(self.repeated_classes(siblings=False))),
            f"functions with more than {MOST_PARAMETERS} parameters": str(len(self.wide())),
            "calls that splat values they write down": str(self.splats()),
            f"modules loaded by `batproto {' '.join(FIRST_STEP)}`": self.loaded(FIRST_STEP),
        }


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    arguments = node.args
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    for decorator in node.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr in CLICK:
            return True
    return False


def main(words: list[str]) -> None:
    """Print the table."""
    if "--list" in words:
        tree = Tree(ROOT)
        print("Functions with many parameters:", *tree.wide(), sep="\n  ")
        print(
            "Class names of several modules, which are not of sibling protocols:",
            *(f"{name} {count}" for name, count in tree.repeated_classes(siblings=False)),
            sep="\n  ",
        )
        return
    roots = [Path(word).resolve() for word in words] or [ROOT]
    columns = [Tree(root).measures() for root in roots]
    print("| measure |", " | ".join(root.name for root in roots), "|")
    print("|---|" + "---|" * len(roots))
    for measure in columns[0]:
        print(f"| {measure} |", " | ".join(column[measure] for column in columns), "|")


if __name__ == "__main__":
    main(sys.argv[1:])
