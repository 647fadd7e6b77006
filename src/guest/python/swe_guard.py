# SPDX-License-Identifier: Apache-2.0
# Repository-level patches: what a patch may not have changed. Part of the driver (swe.py), in belljar's own interpreter.
#
# The test runner reads four things of a checkout besides the product: the tests, its configuration and plugins, the entry points of packages, and
# whatever Python's search path puts before the module that the runner means. Each is found by where the runner looks for it, not by a list of known
# tricks. A change of such a file is put back or removed, and told. A change that the gold patch makes too, line by line, is nobody's trick.
import os
import re

CONFIG = frozenset(("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg", "pyproject.toml", ".coveragerc"))
WHOLE = frozenset(("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", ".coveragerc"))  # read from end to end; that it is there counts too
TOOLS = ("pytest", "coverage")  # whose sections of the others are read
SITE = frozenset(("sitecustomize", "usercustomize"))
CODE = (".py", ".so", ".pyd", ".pyc", ".pyo")
METADATA = (".egg-info", ".dist-info", ".egg", ".egg-link")
HEADER = re.compile(r"\[([^\[\]]*)\]\s*(?:[#;].*)?\Z")


def glob(pattern):
    """A glob of paths, where ** goes over folders."""
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out, i = out + "(?:.*/)?", i + 3
        elif pattern.startswith("**", i):
            out, i = out + ".*", i + 2
        elif pattern[i] == "*":
            out, i = out + "[^/]*", i + 1
        elif pattern[i] == "?":
            out, i = out + "[^/]", i + 1
        else:
            out, i = out + re.escape(pattern[i]), i + 1
    return re.compile(out + r"\Z", re.S)


def globs(patterns):
    compiled = [glob(p) for p in patterns or ()]
    return lambda path: any(c.match(path) for c in compiled)


def inside(place, path):
    """A path as seen from a folder, or None."""
    if not place:
        return path
    return path[len(place) + 1:] if path.startswith(place + "/") else None


def folders_above(path):
    while path:
        path = os.path.dirname(path)
        yield path


# ---- configuration -----------------------------------------------------------------------------------------------------------------------

def ini_settings(text):
    """[(section, line)] of the sections that the runner's tools read; None where two readers could see different sections."""
    found, section = [], ""
    for line in text.splitlines():
        word = line.strip()
        if not word or word[0] in "#;":
            continue
        if word[0] == "[":
            m = HEADER.match(line)
            if not m:
                return None
            section = m.group(1).casefold()
        if not section or any(t in section for t in TOOLS):
            found.append((section, line.rstrip()))
    return found


def toml_settings(text, whole):
    try:
        import tomllib
        data = tomllib.loads(text)
    except (ImportError, ValueError, RecursionError):
        return None
    tool = data.get("tool")
    return data if whole else {k: v for k, v in tool.items() if any(t in k.casefold() for t in TOOLS)} if isinstance(tool, dict) else {}


def settings(name, state):
    """What the runner reads of a configuration file. None: nobody can tell."""
    if state[0] == "missing":
        return None if name in WHOLE else {} if name.endswith(".toml") else []
    if state[0] != "file":
        return None
    try:
        text = state[1].decode("utf-8")
    except ValueError:
        return None
    if text.startswith("\ufeff"):
        return None
    if name.endswith(".toml"):
        return toml_settings(text, name in WHOLE)
    return text.splitlines() if name in WHOLE else ini_settings(text)


def same_settings(name, was, now):
    one = settings(name, was)
    return one is not None and one == settings(name, now)


# ---- where the runner looks --------------------------------------------------------------------------------------------------------------

class Places:
    """Where this job's runner looks for its files and modules."""

    def __init__(self, tree, tests, named, job):
        self.tree, self.tests, self.job = tree, tests, job
        self.files = set(tests) | set(named)
        for word in job.get("argv") or ():
            path = os.path.normpath(word.split("::")[0])
            if not path.startswith(("/", "..", "-")) and os.path.exists(tree.at(path)):
                self.files.add(path + "/x" if os.path.isdir(tree.at(path)) else path)
        self.above = {f for p in self.files for f in folders_above(p)} | {""}
        script = job["kind"] in ("django", "sympy") and job.get("argv")
        self.script = os.path.dirname(os.path.normpath(job["argv"][0])) if script else None

    def has(self, path):
        """Whether the tree will have a file when the tests run."""
        return self.tests[path][0] == "file" if path in self.tests else os.path.isfile(self.tree.at(path))

    def roots(self):
        """Folders of sys.path below the tree, as the tree is now: what is given, and the first folder above a test that is no package."""
        found = {"", "src", "lib"}
        found.update(w for folder in self.above for w in self.configured(folder))
        if self.script is not None:
            found.add(self.script)
        for p in self.job.get("pythonpath") or ():
            rel = os.path.relpath(p, self.tree.top)
            if not rel.startswith(".."):
                found.add("" if rel == "." else rel)
        starts = {os.path.dirname(p) for p in self.files if p.endswith(".py")} | {f for f in self.above if self.has(os.path.join(f, "conftest.py"))}
        for folder in starts:
            while folder and self.has(folder + "/__init__.py"):
                folder = os.path.dirname(folder)
            found.add(folder)
        return found

    def configured(self, folder):
        """Words of pytest's own `pythonpath` setting."""
        for name in CONFIG:
            state = self.tree.look(os.path.join(folder, name))
            if state[0] == "file":
                for m in re.finditer(rb"(?m)^[ \t]*pythonpath[ \t]*=(.*(?:\n[ \t]+.*)*)", state[1]):
                    for word in re.findall(r"[\w./-]+", m.group(1).decode("utf-8", "replace")):
                        path = os.path.normpath(os.path.join(folder, word))
                        if not path.startswith(("..", "/")):
                            yield "" if path == "." else path

    def plugins(self):
        """Modules that the tests' own conftest.py and configuration load as plugins."""
        import ast
        found = set()
        for folder in self.above:
            path = os.path.join(folder, "conftest.py")
            state = self.tests.get(path) or self.tree.look(path)
            if state[0] != "file":
                continue
            try:
                body = ast.parse(state[1]).body
            except (SyntaxError, ValueError, RecursionError):
                continue
            for node in body:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else ()
                if any(getattr(t, "id", None) == "pytest_plugins" for t in targets) and node.value is not None:
                    found.update(n.value for n in ast.walk(node.value) if isinstance(n, ast.Constant) and isinstance(n.value, str))
        return found


def module_at(place, path, link):
    """The module that a file makes importable from a folder of sys.path, or None."""
    rel = inside(place, path)
    if rel is None:
        return None
    first, _, rest = rel.partition("/")
    if not rest:
        return first.split(".")[0] if link or first.endswith(CODE) else None
    return first if "/" not in rest and rest.split(".")[0] == "__init__" and rest.endswith(CODE) else None


def packages(tree, places):
    """Names of the modules that the checkout itself has at these folders."""
    found = set()
    for place in places:
        try:
            names = os.listdir(tree.at(place))
        except OSError:
            continue
        found.update(n.split(".")[0] for n in names if n.endswith(CODE) or os.path.exists(os.path.join(tree.at(place), n, "__init__.py")))
    return found


# ---- the guard ---------------------------------------------------------------------------------------------------------------------------

class Guard:
    def __init__(self, front, tree, patch, tests, named, job, outside):
        self.front, self.tree, self.patch, self.tests, self.job, self.outside = front, tree, patch, tests, job, outside
        self.protected, self.runner, self.watched = globs(job.get("protected")), globs(job.get("runner_files")), globs(job.get("watched"))
        self.places, self.gone = Places(tree, tests, named, job), []

    def base(self, path):
        return self.tree.base.get(path, ("missing",))

    def tell(self, what, path, action, detail=None):
        self.front.tell(what, path, action, detail)

    def put_back(self, what, path, detail=None):
        was = self.base(path)
        self.tree.put(path, was, self.gone)
        self.tell(what, path, "removed" if was[0] == "missing" else "restored", detail)

    def is_read(self, path, was, now):
        """What a file is to the runner: a word, or None."""
        parts = path.casefold().split("/")
        name = parts[-1]
        if any(p.endswith(METADATA) or p == "egg-info" for p in parts):
            return "entry_point"
        if name.endswith(".pth") or any(p.split(".")[0] in SITE for p in parts):
            return "site"
        if name.endswith((".pyc", ".pyo")) or "__pycache__" in parts[:-1]:
            return "shadow"
        if self.runner(path):
            return "runner_file"
        folder = os.path.dirname(path)
        if self.job["kind"] == "pytest":
            if name == "conftest.py":
                return "runner_file"
            if name in CONFIG and folder in self.places.above and not same_settings(name, was, now):
                return "runner_file"
        if was[0] != "missing" and self.places.script and inside(self.places.script, path) is not None and not self.protected(path):
            return "runner_file"
        if was[0] == "missing" and name.split(".")[0] == "__init__" and folder in self.places.above and self.protected(path):
            return "runner_file"
        return None

    def beside(self, path):
        """Whether an added file is imported in the place of a protected one: a folder or a library of the same name."""
        parts = path.split("/")
        for i, part in enumerate(parts):
            last = i == len(parts) - 1
            if last and not part.endswith((".so", ".pyd")):
                return False
            own = "/".join([*parts[:i], part.split(".")[0] + ".py"])
            if own != path and self.places.has(own) and (own in self.tests or self.protected(own) or self.is_read(own, ("missing",), ("missing",))):
                return True
        return False

    def links(self):
        """Links that lead out of the tree, or that stand where the tests' folders belong."""
        real = os.path.realpath(self.tree.top)
        known = [*self.tests, *(b for b, s in self.tree.base.items() if s[0] != "missing")]
        for p in self.patch.paths:
            now = self.tree.look(p)
            if now[0] != "link" or now == self.base(p):
                continue
            leads = os.path.realpath(self.tree.at(p))
            if leads != real and not leads.startswith(real + "/") or leads.startswith(real + "/.git/") or any(t.startswith(p + "/") for t in known):
                self.tree.remove(p)
                self.tell("symlink_parent", p, "removed", f"a link to {now[1]}")

    def changed(self):
        for p in self.patch.paths:
            was, now = self.base(p), self.tree.look(p)
            if now != was:
                yield p, was, now

    def files(self):
        gold = self.job.get("gold") or {}
        left = []
        for p, was, now in self.changed():
            if p in self.tests:
                self.tell("protected", p, "restored", "a file of the test patch")
                continue
            if gold.get(p) and gold[p] == self.patch.digests.get(p):
                continue
            what = self.is_read(p, was, now)
            # The repository's own test library is a runner file, and product where the right patch changes it too.
            if what and not (self.watched(p) and (p in gold or not gold)):
                self.put_back(what, p)
            elif self.protected(p) and was[0] != "missing":
                self.put_back("protected", p, "deleted" if now[0] == "missing" else None)
            else:
                left.append((p, was, now))
        return left

    def modules(self, left):
        """After the files, since it is what the tree holds now that makes a folder one of sys.path."""
        roots, plugins = self.places.roots(), self.places.plugins()
        added = {p for p, was, _ in left if was[0] == "missing"}
        for p, was, now in left:
            names = {r: module_at(r, p, now[0] == "link") for r in roots}
            shadows = p in added and any(m in self.outside and not self.had(r, m, added) for r, m in names.items() if m)
            if shadows or (p in added and self.beside(p)):
                self.put_back("shadow", p)
            elif p in added and self.protected(p):
                self.tell("protected", p, "seen", "added")
            elif any(inside(r, p) in (m.replace(".", "/") + ".py", m.replace(".", "/") + "/__init__.py") for r in roots for m in plugins):
                self.tell("plugin", p, "seen", "a module that the tests load as a plugin")
            elif self.watched(p):
                self.tell("watched", p, "seen")

    def had(self, place, module, added):
        """Whether the base has this module at this place."""
        stem = os.path.join(place, module)
        return stem not in added and any(f not in added and self.places.has(f) for f in (stem + ".py", stem + "/__init__.py"))

    def suspects(self, suspicious):
        """Names lines that the patch adds to product code and that look into their own interpreter."""
        for p, was, now in self.changed():
            if p.endswith(".py") and now[0] == "file" and p not in self.tests and not self.protected(p):
                for line, what in suspicious(was[1] if was[0] == "file" else None, now[1]):
                    self.tell("suspicious_code", f"{p}:{line}", "seen", what)

    def run(self):
        self.links()
        self.modules(self.files())
        for p, state in self.tests.items():
            self.tree.put(p, state, self.gone)
        for path, what in self.gone:
            self.tell("symlink_parent", path, "removed", f"a link to {what[1]}" if what[0] == "link" else "a file where a folder belongs")
