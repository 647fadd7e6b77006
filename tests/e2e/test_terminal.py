# SPDX-License-Identifier: Apache-2.0
"""On a terminal a guest can show text and colours and nothing that steers."""
import os
import pty
import re
import select
import time

import pytest
from harness import finish, ms, run, seconds, start, stop


def on_terminal(code, *opts, env=None):
    """Everything that arrives at a terminal while belljar runs `code`."""
    master, slave = pty.openpty()
    p = start("run", "-t", ms(30000), *opts, "-c", code, stdout=slave, stderr=slave, env={"TERM": "xterm", **(env or {})})
    os.close(slave)
    got, end = b"", time.monotonic() + seconds(40)
    try:
        while time.monotonic() < end:
            if not select.select([master], [], [], 0.2)[0]:
                if p.poll() is not None:
                    break
                continue
            try:
                block = os.read(master, 65536)
            except OSError:
                break
            if not block:
                break
            got += block
        finish(p)
    finally:
        stop(p)
        os.close(master)
    return got, p.returncode


STEERING = {
    "clipboard": b"\x1b]52;c;ZXZpbA==\x07", "title": b"\x1b]0;evil\x07", "title with ST": b"\x1b]2;evil\x1b\\", "cursor up": b"\x1b[1A", "clear": b"\x1b[2J",
    "home": b"\x1b[H", "alternate screen": b"\x1b[?1049h", "report": b"\x1b[6n", "device attributes": b"\x1b[c", "reset": b"\x1bc",
    "8-bit CSI": b"\x9b2J", "8-bit OSC": b"\x9d0;evil\x9c", "C1 in UTF-8": "\u009b2J".encode(), "DCS": b"\x1bPq\x1b\\", "bell": b"\x07",
    "backspace": b"abc\b\b\b", "carriage return": b"harmless\revil", "bidi override": "\u202eevil\u202c".encode(), "bidi isolate": "\u2066x\u2069".encode(),
    "long CSI": b"\x1b[" + b"1;" * 100 + b"m", "split": b"\x1b[", "CSI with colon query": b"\x1b[>4;2m", "delete": b"\x7f", "vertical tab": b"\x0b\x0c",
    "shift out": b"\x0e", "hyperlink": b"\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\",
}
OURS = re.compile(rb"\x1b\[[0-9;]{0,38}m")


@pytest.mark.parametrize("name", STEERING)
def test_escaped(name):
    got, rc = on_terminal(f"import os; os.write(1, b'<' + {STEERING[name]!r} + b'>'); os.write(2, b'(' + {STEERING[name]!r} + b')')")
    assert rc == 0
    shown = OURS.sub(b"", got.replace(b"\r\n", b"\n"))
    assert not re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", shown), got
    assert not re.search(rb"\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]", shown), got
    shown.decode("utf-8")  # no stray 8-bit controls either
    assert b"<" in shown and b">" in shown and b"(" in shown and b")" in shown


def test_sequences_split_over_writes():
    got, _ = on_terminal("import os, time\nfor b in b'\\x1b]52;c;AAAA\\x07\\x1b[2J\\xe2\\x80\\xae':\n    os.write(1, bytes([b])); time.sleep(.02)")
    shown = OURS.sub(b"", got)
    assert b"\x1b" not in shown and b"\xe2\x80\xae" not in shown and b"\x07" not in shown, got


@pytest.mark.parametrize("text", ["\x1b[31mred\x1b[0m", "\x1b[1;38;5;208mbold\x1b[m", "äöü€😀", "a\tb"])
def test_passes(text):
    got, _ = on_terminal(f"import os; os.write(1, {text.encode()!r})")
    assert text.encode() in got


def test_nothing_is_escaped_into_a_pipe():
    c = run("run", "-c", "import os; os.write(1, b'\\x1b]52;c;x\\x07')")
    assert c.out == b"\x1b]52;c;x\x07"


def test_colours_of_belljar_itself():
    """Red errors on a terminal only, and never with NO_COLOR."""
    with_colour, rc = on_terminal("import time; time.sleep(60)", "-t", ms(300))
    assert rc == 124 and b"\x1b[31m" in with_colour and b"timeout" in with_colour
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        without, _ = on_terminal("import time; time.sleep(60)", "-t", ms(300), env=env)
        assert b"\x1b" not in without and b"timeout" in without


def test_guest_has_no_terminal():
    got, rc = on_terminal("import os, sys\nprint([os.isatty(i) for i in range(3)])\ntry:\n    open('/dev/tty')\nexcept OSError as e: print('no tty')")
    assert b"[False, False, False]" in got and b"no tty" in got and rc == 0
