# SPDX-License-Identifier: Apache-2.0
"""Fixtures, the guard-off variants, the check for leftovers after every case, and the table at the end."""
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
import jarlib  # noqa: E402
import warm  # noqa: E402
from cases import CASES, ROOT_MODE, ROOTLESS_MODE, WARM_RED  # noqa: E402

ABSENT_SHARE = 0.10  # a suite full of ABSENT proves nothing


def case_id(name):
    """FS-01 of test_fs_01_absolute_read; the whole of section 11 is one case, OK."""
    m = re.match(r"test_([a-z]{2})_(\d\d)", name)
    return f"{m[1].upper()}-{m[2]}" if m else "OK" if name.startswith("test_ok_") else None


# ---- options and collection ----------------------------------------------------------------------

def pytest_addoption(parser):
    parser.addoption("--no-red", action="store_true", help="leave out the guard-off variants")
    parser.addoption("--only-red", action="store_true", help="run nothing but the guard-off variants")
    parser.addoption("--all-red", action="store_true", help="with warm jars: all guard-off variants, not one for each guard")


def pytest_configure(config):
    config.addinivalue_line("markers", "nored: this part of a case has no guard-off variant")
    jarlib.become_subreaper()
    config.case_rows = {}
    config.snapshot = jarlib.snapshot_binaries()
    if jarlib.WARM and not warm.has_batch(jarlib.BELLJAR):
        pytest.exit(f"BELLJAR_TEST_WARM: {jarlib.BELLJAR} has no `batch`", 2)


def pytest_unconfigure(config):
    warm.close_all()
    jarlib.remove_tree(config.snapshot)


def red_wanted(config):
    return jarlib.HOOKS.exists() and not config.getoption("--no-red")


def pytest_generate_tests(metafunc):
    """Each case runs as it is, and once more for every row of its guards: there it must fail."""
    if "jar" not in metafunc.fixturenames:
        return
    variants = [""]
    case = case_id(metafunc.function.__name__)
    row = CASES.get(case)
    if row and red_wanted(metafunc.config) and not list(metafunc.definition.iter_markers("nored")):
        few = jarlib.WARM and not metafunc.config.getoption("--all-red")
        variants += [g for g in row.guards if not few or (case, g) in WARM_RED]
    metafunc.parametrize("jar", variants, indirect=True, ids=["on"] + [f"off:{g}" for g in variants[1:]])


def is_red(item):
    spec = getattr(item, "callspec", None)
    return bool(spec and spec.params.get("jar"))


def pytest_collection_modifyitems(config, items):
    if config.getoption("--only-red"):
        items[:] = [i for i in items if is_red(i)]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """A guard-off variant passes when the case fails, and only by its own assertion."""
    if not is_red(pyfuncitem):
        return None
    args = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    before = warm.one_shots()
    try:
        pyfuncitem.obj(**args)
    except AssertionError:
        if jarlib.WARM and warm.one_shots() > before and not pyfuncitem.config.getoption("--all-red"):
            pytest.fail("red, but not in a warm jar", pytrace=False)
        return True
    pytest.fail(f"stays green without {pyfuncitem.callspec.params['jar']}", pytrace=False)


# ---- fixtures ------------------------------------------------------------------------------------

@pytest.fixture(scope="session")
def build(tmp_path_factory):
    """A folder that every user may read: the probe is handed to jars from here."""
    d = Path(tempfile.mkdtemp(prefix="containment-", dir="/var/tmp"))
    d.chmod(0o755)
    yield d
    jarlib.remove_tree(d)


@pytest.fixture(scope="session")
def probe(build):
    out = build / "probe"
    subprocess.run(["cc", "-std=gnu17", "-O1", "-static", "-pthread", "-o", out, jarlib.HERE / "probe.c"], check=True)
    out.chmod(0o755)
    return out


@pytest.fixture(scope="session")
def home(build):
    """For BELLJAR_TEST_USER: an ordinary account, made when it is missing, with folders of its own."""
    if not jarlib.TEST_USER:
        return None
    if subprocess.run(["getent", "passwd", jarlib.TEST_USER], capture_output=True).returncode:
        subprocess.run(["useradd", "--no-create-home", "--shell", "/usr/sbin/nologin", jarlib.TEST_USER], check=True)
    d = build / "home"
    for p in (d, d / "run", d / "state"):
        p.mkdir(mode=0o700)
        subprocess.run(["chown", f"{jarlib.TEST_USER}:", p], check=True)
    return d


@pytest.fixture(scope="session")
def belljar():
    if not jarlib.BELLJAR.exists():
        pytest.exit(f"{jarlib.BELLJAR} is missing: build belljar first, or set BELLJAR", 2)
    p = subprocess.run([str(jarlib.BELLJAR), "run", "--", "/bin/true"], capture_output=True, timeout=30)
    if p.returncode:
        pytest.exit(f"belljar cannot run /bin/true: {p.stderr.decode(errors='replace')}", 2)
    return jarlib.BELLJAR


@pytest.fixture
def jar(request, belljar, probe, home):
    return jarlib.Jar(probe, getattr(request, "param", ""), home)


@pytest.fixture(scope="session")
def canaries():
    c = jarlib.Canaries()
    yield c
    c.close()


@pytest.fixture(scope="session")
def witness(belljar, probe, home):
    return jarlib.Witness(jarlib.Jar(probe, "", home))


@pytest.fixture
def box(build, request):
    """A host folder for one case, readable by every user, on a file system without nodev or nosuid."""
    d = Path(tempfile.mkdtemp(prefix="case-", dir=build))
    d.chmod(0o755)
    yield d
    jarlib.remove_tree(d)


@pytest.fixture
def outdir(build):
    """Where artifacts go: owned by whoever runs belljar."""
    d = Path(tempfile.mkdtemp(prefix="out-", dir=build))
    if jarlib.TEST_USER:
        subprocess.run(["chown", f"{jarlib.TEST_USER}:", d], check=True)
    yield d
    jarlib.remove_tree(d)


@pytest.fixture
def absent():
    """absent(why): the door does not exist on this host, so a closed one proves nothing."""
    def tell(why):
        pytest.skip(f"ABSENT: {why}")
    return tell


@pytest.fixture
def control(probe, absent):
    """The positive control: the same probe outside must reach the kernel, or the case is ABSENT."""
    def run(*args, expect=jarlib.REACHED, **kw):
        p = jarlib.control(probe, *args, **kw)
        if p.returncode != expect:
            absent(f"outside the jar: exit {p.returncode}: {p.stdout[-200:].decode(errors='replace').strip()}")
        return p
    return run


@pytest.fixture
def batch(jar):
    """batch(*options): a batch process of this case's own (warm.Server), whatever the mode."""
    if not warm.has_batch(jar.binary):
        pytest.skip("this belljar has no `batch`")

    def start(*opts):
        return warm.server_for(jarlib, jar, opts=opts, alone=True)[0]
    return start


@pytest.fixture
def second_layer(jar, probe, home):
    """A jar of the hooks build with some guards off: what is left must still hold."""
    if not jarlib.HOOKS.exists():
        pytest.skip("no build with test hooks (build-hooks/belljar)")
    return lambda off: jarlib.Jar(probe, off, home)


@pytest.fixture(autouse=True)
def nothing_left(request, canaries):
    """After every case: no process, cgroup, mount, folder or interface of ours; the canaries are well."""
    row = CASES.get(case_id(request.node.name))
    if row and row.mode == ROOT_MODE and jarlib.ROOTLESS:
        pytest.skip("needs root mode: " + (row.mode_why or "limits are kept by cgroups, which this user was not delegated"))
    if row and row.mode == ROOTLESS_MODE and not jarlib.ROOTLESS:
        pytest.skip("needs rootless mode: " + row.mode_why)
    before = jarlib.Before()
    yield
    wrong = warm.end_of_test()
    left = {**before.leaks(), **wrong}
    if not is_red(request.node):
        canaries.check()
    else:
        for name in ("tcp4", "tcp6", "udp4", "udp6", "abstract", "path"):
            getattr(canaries, name).seen = []
    if left:
        for pid in left.get("processes", {}):
            jarlib.kill_tree(pid)
        pytest.fail(f"LEAK: {left}", pytrace=False)


# ---- the table at the end ------------------------------------------------------------------------

ORDER = ["FAIL", "ABSENT", "SKIP", "PASS"]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    rep = outcome.get_result()
    cid = case_id(item.originalname or item.name)
    if not cid:
        return
    row = item.config.case_rows.setdefault(cid, {"parts": [], "red": {}, "seconds": 0.0})
    row["seconds"] += rep.duration
    if rep.when != "call" and rep.passed:
        return
    why = ""
    if rep.skipped:
        why = rep.longrepr[2] if isinstance(rep.longrepr, tuple) else str(rep.longrepr)
        why = why.removeprefix("Skipped: ")
        verdict = "ABSENT" if why.startswith("ABSENT") else "SKIP"
    elif rep.failed:
        verdict = "FAIL"
        why = str(call.excinfo.value).splitlines()[0][:110] if call.excinfo and str(call.excinfo.value) else rep.when
    else:
        verdict = "PASS"
    if is_red(item):
        guard = item.callspec.params["jar"]
        good = verdict == "PASS" and row["red"].get(guard, True)
        row["red"][guard] = good
        if verdict == "FAIL":
            row["parts"].append(("FAIL", f"off:{guard}: {why}"))
    else:
        row["parts"].append((verdict, why))


def pytest_terminal_summary(terminalreporter, exitstatus, config):
    rows = config.case_rows
    if not rows:
        return
    tr = terminalreporter
    tr.section("containment")
    tr.write_line(f"{'id':6} {'verdict':7} {'s':>6}  title, then what the guard-off variants showed")
    count = dict.fromkeys(ORDER, 0)
    for cid in sorted(rows, key=lambda c: (list(CASES).index(c) if c in CASES else 999, c)):
        row = rows[cid]
        case = CASES.get(cid)
        verdicts = [v for v, _ in row["parts"]]
        # one part that passed is worth more than others that are absent or skipped
        worst = "FAIL" if "FAIL" in verdicts else "PASS" if "PASS" in verdicts else min(verdicts, key=ORDER.index, default="PASS")
        count[worst] += 1
        if row["red"]:
            red = "red without: " + ", ".join(g for g, ok in row["red"].items() if ok)
            if not all(row["red"].values()):
                red += "; NOT red without: " + ", ".join(g for g, ok in row["red"].items() if not ok)
        else:
            red = "" if not case else ("no guard-off run: " + case.why if not case.guards else "guard-off not run")
        tr.write_line(f"{cid:6} {worst:7} {row['seconds']:6.2f}  {case.title if case else '?'} ({red})")
        if jarlib.WARM:
            tr.write_line(f"{'':16}starts: " + (", ".join(f"{n} {what}" for what, n in sorted(warm.starts.get(cid, {}).items())) or "none"))
        notes = list(dict.fromkeys(f"{v}: {why}" for v, why in row["parts"] if v != "PASS" and why))
        for note in notes[:6] + ([f"... and {len(notes) - 6} more"] if len(notes) > 6 else []):
            tr.write_line(f"{'':16}{note}")
    total = sum(count.values())
    tr.write_line("")
    tr.write_line(f"{total} cases: " + ", ".join(f"{v} {k}" for k, v in count.items())
                  + f"; mode {'rootless' if jarlib.ROOTLESS else 'root'}, guest uid {jarlib.GUEST_UID}"
                  + ("" if jarlib.HOOKS.exists() else "; no hooks build, so no guard-off variants"))
    if jarlib.WARM:
        runs = sum(warm.starts.values(), Counter())
        tr.write_line(f"runs: {runs['warm']} warm, {runs['cold']} cold in a batch, {sum(n for w, n in runs.items() if w.startswith('one-shot'))} one-shot")
    if count["ABSENT"] > ABSENT_SHARE * total:
        tr.write_line(f"FAIL: {count['ABSENT']} of {total} are ABSENT, more than {ABSENT_SHARE:.0%}")


def pytest_sessionfinish(session, exitstatus):
    rows = session.config.case_rows
    absent = sum(1 for r in rows.values() if r["parts"] and all(v == "ABSENT" for v, _ in r["parts"]))
    if rows and absent > ABSENT_SHARE * len(rows):
        session.exitstatus = 1
