# SPDX-License-Identifier: Apache-2.0
# What small programs do. A zygote runs it some times before it bears its first guest: the interpreter then has made what it makes at the first use
# (the compiler's node types, its caches), has quickened what it quickens, and no guest has to. Leaves nothing behind.
import sys


class Shape:
    kind = "shape"

    def __init__(self, name, sides=4, *more, **options):
        self.name, self.sides, self.more, self.options = name, sides, more, options

    @property
    def label(self):
        return f"{self.name!r:>10} {self.sides:.2f} {self.kind}"

    def __eq__(self, other):
        return isinstance(other, Shape) and self.name == other.name

    def __hash__(self):
        return hash(self.name)


def squares(n):
    for i in range(n):
        yield i * i


def main():
    shapes = [Shape("a", 3), Shape("b", sides=5, colour="red")]
    table = {s.name: s for s in sorted(shapes, key=lambda s: -s.sides)}
    words = "one two three".split()
    counts = {}
    for w in words:
        counts[w[0]] = counts.get(w[0], 0) + 1
    total = sum(x for x in squares(10) if x % 2) + len({*words}) + max(counts.values()) // 2
    try:
        table["c"].label
    except KeyError as e:
        words.append(str(e))
    while total > 1:
        total = total // 3 - 0.5 * (1 << 2)
    pairs = [(a, b) for a, b in zip(words, enumerate(reversed(words))) if a and b[1] is not None]
    text = ", ".join(map(str, pairs)) + "%d %s" % (len(pairs), [s.label for s in shapes])
    with open("/dev/null", "rb") as f:
        data = f.read()
    exec(compile("def f(a, b=1):\n    return a + b\nx = [f(i) for i in (1, 2)]\nassert x == [2, 3]\n", "<sample>", "exec"), {})
    exec(compile(b"1\n", "<sample>", "exec", dont_inherit=True), {})
    print(1 + 1, text.upper()[:20], end="\n")
    print(text.encode().decode("utf-8") == text, data, shapes[0] == shapes[1], eval("1 < 2 and [3]"), file=sys.stdout)


main()
