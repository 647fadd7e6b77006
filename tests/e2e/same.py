# SPDX-License-Identifier: Apache-2.0
"""Programs that look for a difference between a warm start and a cold one: read from snippets/*.txt, normalised, compared.

A file is a sentence of purpose, then snippets: a line "=== name {options}", then the code. The options are fields of the request, and
  each          one snippet per value, which replaces @@ in the code
  repeat        the code that many times
  stdin_repeat  that many bytes of standard input
  mask          a pattern of text that differs from run to run anyway
  start         "warm" (default), "cold" or "any": what the result must say
  refused       the request itself is an error
"""
import json
import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent / "snippets"
WALL_MS = 20000  # for a snippet that sets no limit of its own

# What may differ, and why. Everything else may not.
EXCEPTIONS = {
    "python-library/import-modules-loaded": ("stdout", "modules that the zygote preloaded are in sys.modules"),
    "python-world/proc-exe": ("stdout", "/proc/self/exe is the zygote's"),
    "python-world/proc-maps-files": ("stdout", "a zygote maps the libraries of its preloaded modules"),
    "python-world/proc-environ": ("stdout", "/proc/self/environ is the memory of the zygote's first program; os.environ and environ(7) are right"),
    "python-world/proc-cmdline": ("stdout", "/proc/self/cmdline is the zygote's: without the arguments, which sys.argv and sys.orig_argv have"),
    "python-world/proc-status": ("stdout", "FDSize and Seccomp_filters of /proc/self/status: room for descriptors; the filter is in two parts that add up to one"),
    "python-world/proc-seccomp-filters": ("stdout", "the filter is in two parts that add up to one"),
    "node/proc-status": ("stdout", "Seccomp_filters: the filter is in two parts that add up to one"),
    "bash/status": ("stdout", "Seccomp_filters: the filter is in two parts that add up to one"),
    "python-world/proc-uid-map": ("stdout", "the guest's number in the intermediate namespace, which is its slot's"),
    "python-world/proc-maps-executable-anonymous": ("stdout", "the interpreter's text is a copy in huge pages, libraries are shown from the zygote's image"),
    "python-world/mounts": ("stdout", "the same mounts in another order: /proc is made first"),
    "python-world/mount-options": ("stdout", "the same mounts in another order: /proc is made first"),
    "python-ends/finalizing-flag": ("stdout", "sys.is_finalizing() stays False: a zygote's guest does not take the interpreter itself apart"),
    "python-identity/gc-state": ("stdout", "gc.get_freeze_count() is not 0: what the zygote brought is frozen"),
    "node/uptime-own": ("stdout", "process.uptime() counts from node's own start, which was before the request"),
}

# Numbers and names that differ between any two runs.
VOLATILE = {"execution_id", "id", "client", "line", "elapsed_s", "cpu_s", "max_memory_mb", "pids_peak", "start", "stdout_bytes", "stderr_bytes",
            "stdout_base64", "stderr_base64", "log", "receipt"}
VOLATILE_EVIDENCE = {"memory_peak_bytes", "memory_limit_hits", "cpu_ns", "cpu_throttled_ns", "pids_peak", "pids_limit_hits", "disk_used_bytes"}
# An address, the name of a temporary file, of a run, and a CPU time in belljar's sentence; nothing else is normalised everywhere.
NOISE = [(re.compile(r"0x[0-9a-f]{6,16}\b"), "0xADDRESS"), (re.compile(r"/tmp/tmp[a-z0-9_]{8}"), "/tmp/tmpNAME"),
         (re.compile(r"exec-[0-9a-f]{12}"), "exec-ID"), (re.compile(r"used [0-9.]+ s of CPU"), "used N s of CPU")]


class Snippet(NamedTuple):
    name: str
    request: dict
    mask: str
    start: str
    refused: bool


def language_of(path):
    return path.stem.split("-")[0]


def read(path):
    """All snippets of one file."""
    found = []
    parts = re.split(r"^=== (\S+)[ ]*(\{.*\})?[ ]*\n", path.read_text(), flags=re.M)
    for name, options, code in zip(parts[1::3], parts[2::3], parts[3::3]):
        try:
            opts = json.loads(options) if options else {}
        except ValueError as e:
            raise ValueError(f"{path.name}: {name}: {e}") from None
        for value in opts.pop("each", [None]):
            found.append(snippet(path, name if value is None else f"{name}-{value}", dict(opts),
                                 code if value is None else code.replace("@@", value)))
    return found


def snippet(path, name, opts, code):
    mask, start, refused = opts.pop("mask", ""), opts.pop("start", "warm"), opts.pop("refused", False)
    if "stdin_repeat" in opts:
        n = opts.pop("stdin_repeat")
        opts["stdin"] = ("0123456789abcde\n" * (n // 16 + 1))[:n]
    code = code * opts.pop("repeat", 1)
    request = {"id": f"{path.stem}/{name}", "client": "same"}
    if "argv" not in opts:
        request.update(language=language_of(path), code=opts.pop("code", code))
    request.update(opts)
    request["limits"] = {"wall_ms": WALL_MS, **opts.get("limits", {})}
    return Snippet(request["id"], request, mask, start, refused)


def all_snippets():
    found = [s for path in sorted(HERE.glob("*.txt")) for s in read(path)]
    names = [s.name for s in found]
    twice = {n for n in names if names.count(n) > 1}
    assert not twice, f"names used twice: {twice}"
    unknown = set(EXCEPTIONS) - set(names)
    assert not unknown, f"exceptions without a snippet: {unknown}"
    return found


def plain_text(text, mask):
    for pattern, word in NOISE:
        text = pattern.sub(word, text)
    return re.sub(mask, "MASKED", text) if mask else text


def comparable(result, mask=""):
    """A result without what differs between any two runs: {field: value}, nested objects as dotted names."""
    flat = {}
    for key, value in result.items():
        if key == "evidence":
            flat.update({f"evidence.{k}": v for k, v in value.items() if k not in VOLATILE_EVIDENCE})
        elif key == "isolation" and value:
            flat.update({f"isolation.{k}": v for k, v in value.items() if k != "host_uid"})
        elif key in ("stdout", "stderr", "error") and value:
            flat[key] = plain_text(value, mask)
        elif key == "compile" and value:
            flat.update({f"compile.{k}": v for k, v in comparable(value, mask).items()})
        elif key not in VOLATILE:
            flat[key] = value
    flat["log"] = bool(result.get("log"))
    return flat


def differences(warm, cold, mask=""):
    """{field: (warm, cold)} of what a program or its caller could tell apart."""
    a, b = comparable(warm, mask), comparable(cold, mask)
    return {k: (a.get(k), b.get(k)) for k in sorted(a.keys() | b.keys()) if a.get(k) != b.get(k)}


def told(diff):
    return "\n".join(f"  {field}:\n    warm {w!r}\n    cold {c!r}" for field, (w, c) in diff.items())
