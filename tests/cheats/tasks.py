# SPDX-License-Identifier: Apache-2.0
"""The small tasks that the tricks pretend to solve: tasks/NAME.json are cases as `belljar test` reads them, and a check(candidate) text is made of
them; checks/NAME.py are tasks in HumanEval's form alone, for tricks that are about the check text."""
import json
import re
from pathlib import Path

HERE = Path(__file__).parent
SUFFIX = {".py": "python", ".js": "javascript", ".sh": "bash"}


def cases_file(task):
    return HERE / "tasks" / f"{task}.json"


def cases(task):
    return json.loads(cases_file(task).read_text()) if cases_file(task).exists() else []


def literal(v):
    """A value of a case as Python text."""
    if isinstance(v, dict) and len(v) == 1 and next(iter(v)).startswith("$"):
        tag, x = next(iter(v.items()))
        return {"$set": f"set({x!r})", "$float": f"float({x!r})", "$int": str(x)}[tag]
    if isinstance(v, list):
        return "[" + ", ".join(map(literal, v)) + "]"
    return repr(v)


def program(task):
    """(prompt, test) of a task that is a check text only, else None."""
    path = HERE / "checks" / f"{task}.py"
    return path.read_text().split("# ---- test\n") if path.exists() else None


def prompt(task):
    return (program(task) or [""])[0]


def check(task):
    """HumanEval's kind of test: of a file in checks/, or with the inputs and expectations of the cases."""
    if program(task):
        return program(task)[1]
    out = ["import math", "METADATA = {}", "def check(candidate):"]
    for c in cases(task):
        call = f"candidate({', '.join(map(literal, c['args']))})"
        want = literal(c.get("expected"))
        if "expected_exception" in c:
            out += ["    try:", f"        {call}", f"    except {c['expected_exception']}:", "        pass", "    else:",
                    f"        assert False, 'no {c['expected_exception']}'"]
        elif c.get("compare") == "float":
            out.append(f"    assert abs({call} - {want}) < 1e-6")
        elif c.get("compare") == "unordered":
            out.append(f"    assert sorted({call}) == sorted({want})")
        elif task == "negate":
            out.append(f"    assert math.copysign(1, {call}) == math.copysign(1, {want})")
        elif task == "evens":
            out.append(f"    assert list({call}) == {want}")
        else:
            out.append(f"    assert {call} == {want}")
    return "\n".join(out) + "\n"


class Solution:
    """One file of tricks/, honest/ or wrong/: its text and what the comments at its top say."""

    def __init__(self, path):
        self.path, self.name = path, path.name
        self.text = path.read_text()
        self.language = SUFFIX[path.suffix]
        head = re.match(r"((?:(?:#|//).*\n)+)", self.text)[1]
        fields = dict(re.findall(r"^(?:#|//) (\w+): (.*(?:\n(?:#|//)   .*)*)", head, re.M))
        self.how = " ".join(fields.get("How", "").replace("\n#", " ").replace("\n//", " ").split())
        self.task = fields["Task"].strip()
        self.fools = fields.get("Fools", "").replace(",", " ").split()
        self.sometimes = fields.get("Sometimes", "").replace(",", " ").split()  # by luck: who comes first
        self.func = fields.get("Func", self.task).strip()
        self.styles = fields.get("Styles", "test eval").split()  # honest ones: which of the two grade it


def all_of(folder):
    return [Solution(p) for p in sorted((HERE / folder).iterdir()) if p.suffix in SUFFIX]
