# SPDX-License-Identifier: Apache-2.0
"""Function tests and data sets of JavaScript: what is the same value, type and exception, and who cannot fool it."""
import json
import subprocess
import sys

import pytest

import harness
from test_grade import grade, needs, reasons, tmp_path  # noqa: F401

sys.path.append(str(harness.REPO / "tests" / "fuzz"))
import values_js  # noqa: E402

pytestmark = pytest.mark.skipif(not harness.languages()["node"]["installed"], reason="node is not installed")

U, NAN, INF = {"$undefined": True}, {"$float": "nan"}, {"$float": "inf"}


def ret(expression, expected, **more):
    """A function that returns an expression, and what is expected."""
    return "function f(...a) { return %s }" % expression, {"expected": expected, **more}


def verdicts(rows):
    """The reasons of many solutions with one case each: lines of one batch."""
    text = "".join(json.dumps({"language": "node", "code": code, "test": {"func": "f", "cases": [case]}}) + "\n" for code, case in rows)
    r = harness.run("batch", "-", input=text.encode(), timeout=harness.seconds(300))
    assert r.rc == 0, (r.rc, r.out[-1000:], r.err)
    found = [json.loads(line) for line in r.out.splitlines()]
    assert len(found) == len(rows)
    return [line["test_results"][0]["reason"] if line.get("test_results") else line["reason"] for line in found]


def check(rows):
    """Rows of code, case and the wanted reason."""
    got = verdicts([row[:2] for row in rows])
    assert not [(row[0], row[1], "wanted", row[2], "got", reason) for row, reason in zip(rows, got) if row[2] != reason]


# ---- values --------------------------------------------------------------------------------------

def test_values_are_the_same_as_node_says():
    *wrong, seen = values_js.check(20261118, 40000)
    assert not wrong, wrong[:5]
    assert min(seen) > 10000


def test_any_bytes_are_a_value_or_refused():
    assert not list(values_js.hostile(20261118, 20000))


NOT_THE_SAME = [
    # undefined is not null, at any place
    ret("undefined", None), ret("null", U), ret("[undefined]", [None]), ret("[,1]", [None, 1]), ret("[,1]", [U, 1]), ret("({a: undefined})", {"a": None}), ret("({a: undefined})", {}),
    ret("new Map([[undefined, 1]])", {"$map": [[None, 1]]}), ret("new Set([undefined])", {"$set": [None]}), ("function f() {}", {"expected": None}), ret("Array(2)", [U, U]),
    # inside of sets and keys as at the top
    ret("-0", 0), ret("[-0]", [0]), ret("new Set([true])", {"$set": [1]}), ret("new Map([[true, 2]])", {"$map": [[1, 2]]}), ret("new Map([[1, -0]])", {"$map": [[1, 0]]}),
    ret("new Set([[-0]])", {"$set": [[0]]}), ret("true", 1), ret("1", True), ret("'1'", 1), ret("new Set([NaN])", {"$set": [0]}), ret("new Set(['1'])", {"$set": [1]}),
    # an object that holds a value is not the value
    ret("new Number(5)", 5), ret("new String('a')", "a"), ret("new Boolean(true)", True), ret("5", {"$bigint": "5"}), ret("new Date(5)", 5), ret("new Date(5)", {"$date": 6}),
    ret("new Set([1, 2])", [1, 2]), ret("[1, 2]", {"$set": [1, 2]}), ret("({a: 1})", {"$map": [["a", 1]]}), ret("[[1, 2]]", {"$map": [[1, 2]]}),
    ret("Float32Array.of(1)", {"$typed": ["Float64Array", [1]]}), ret("[1]", {"$typed": ["Float64Array", [1]]}), ret("Int8Array.of(256)", [256]), ret("new Set([1, 1])", {"$set": [1, 2]}),
    ret("[1, 1, 2]", [1, 2, 2], compare="unordered"), ret("'\\ud800'", "\ufffd"), ret("'\\ud800'", "\udc00"), ret("9007199254740993", {"$bigint": "9007199254740993"}),
    ret("[{a: 1}, {a: 1}]", [{"a": 1}, {"a": 2}], compare="unordered"), ret("[1.1]", [1.0], compare="float"), ret("({0: 1, length: 1})", [1]),
]


def test_values_that_are_not_the_same():
    check([(code, case, "wrong_value") for code, case in NOT_THE_SAME])


def test_arguments_afterwards():
    args = {"args": [[3, 1, 2]], "expected_args": [[3, 1, 2]]}
    check([
        ("function f(a) { a.sort(); a.push(() => 1) }", args, "args_unencodable"),
        ("function f(a) { a.self = a; a.push(a) }", args, "args_unencodable"),
        ("function f(a) { a.length = 0; throw new RangeError('x') }", {**args, "expected_exception": "RangeError"}, "wrong_value"),
        ("function f(a) { a.push(Symbol()); throw new RangeError('x') }", {**args, "expected_exception": "RangeError"}, "args_unencodable"),
        ("function f(a) { delete a[0] }", {**args, "expected_args": [[U, 1, 2]]}, "wrong_value"),
        ("function f(a) { a[0] = undefined }", {**args, "expected_args": [[None, 1, 2]]}, "wrong_value"),
        ("function f(a) { a.sort() }", {**args, "expected_args": [[1, 2, 3]]}, None),
        ("function f(m) { m.set('b', 2) }", {"args": [{"$map": [["a", 1]]}], "expected_args": [{"$map": [["a", 1], ["b", 2]]}]}, None),
        ("function f(a) { throw new RangeError('x') }", {**args, "expected_exception": "RangeError"}, None),
        ("function f(a) { return [...a].sort() }", {**args, "expected": [1, 2, 3]}, None),
    ])


# ---- types and exceptions ------------------------------------------------------------------------

BANK = "class BankError extends Error {}\nclass Low extends BankError {}\nfunction Old(m) { this.message = m }\nOld.prototype = Object.create(Error.prototype, {constructor: {value: Old}});\n"


def throws(expression, wanted, code=BANK):
    return "%sfunction f() { throw %s }" % (code, expression), {"expected_exception": wanted}


def is_a(expression, wanted, code=""):
    return "%sfunction f() { return %s }" % (code, expression), {"expected_type": wanted}


def test_exceptions():
    good = [throws("new RangeError", "RangeError"), throws("new RangeError", "Error"), throws("new Low('x')", "BankError"), throws("new Low('x')", "Low"), throws("new Low('x')", "Error"),
            throws("new Old('x')", "Old"), throws("new Old('x')", "Error"), throws("new E('x')", "E", "const E = class extends TypeError {};\n"), throws("'text'", "string"),
            throws("new E('x')", "TypeError", "const E = class extends TypeError {};\n"), throws("new errors.Missing", "Missing", "const errors = {Missing: class extends Error {}};\n"),
            throws("(require('assert')(false), 1)", "AssertionError"), throws("null.x", "TypeError"), throws("nope", "ReferenceError"), throws("JSON.parse('{')", "SyntaxError"),
            throws("new AggregateError([])", "AggregateError"), ("async function f() { throw new RangeError('x') }", {"expected_exception": "RangeError"}),
            ("export class Low extends Error {}\nexport function f() { throw new Low() }", {"expected_exception": "Low"})]
    bad = [throws("new E", "RangeError", "const E = {RangeError: class extends TypeError {}}.RangeError;\n"), throws("new BankError", "Low"), throws("new RangeError", "TypeError"),
           throws("new E", "BankError", "class E extends Error {}\nObject.defineProperty(E, 'name', {value: 'BankError'});\n"),
           throws("new E", "BankError", "// class BankError extends Error {}\nclass E extends Error { static name = 'BankError' }\n"),
           throws("new E", "BankError", "const text = 'class BankError extends Error {}';\nclass E extends Error {}\nE.prototype.constructor = {name: 'BankError'};\n"),
           throws("Object.assign(new Error, {name: 'BankError'})", "BankError"), throws("{constructor: RangeError}", "RangeError", ""), throws("'RangeError'", "RangeError"),
           throws("Object.assign(new TypeError, {constructor: RangeError, name: 'RangeError'})", "RangeError"), throws("{name: 'RangeError', message: 'x'}", "RangeError", ""),
           throws("new RangeError('x')", "RangeError", "class RangeError extends Error {}\n"), throws("new Proxy({}, {get: () => RangeError})", "RangeError", ""),
           throws("new E", "RangeError", "class E extends Error {}\nObject.defineProperty(E.prototype, 'constructor', {get: () => RangeError});\n"), throws("null", "TypeError")]
    check([(*row, None) for row in good] + [(*row, "exception") for row in bad] + [(*ret("1", 1)[:1], {"expected_exception": "Error"}, "no_exception")])


def test_types():
    point = "class Shape {}\nclass Point extends Shape { constructor(x) { super(); this.x = x } }\n"
    good = [is_a("1", "number"), is_a("1.5", "float"), is_a("1", "int"), is_a("'a'", "string|null"), is_a("null", "string|null"), is_a("undefined", "undefined"), is_a("1n", "bigint"),
            is_a("[]", "Array"), is_a("[]", "list"), is_a("({})", "Object"), is_a("new Map", "Map"), is_a("new Set", "Set"), is_a("new Date", "Date"), is_a("new Uint8Array(2)", "Uint8Array"),
            is_a("Buffer.from('a')", "Buffer"), is_a("new Point(1)", "Point", point), is_a("new Point(1)", "Shape", point), is_a("new Stack", "Array", "class Stack extends Array {}\n"),
            is_a("new Stack", "Stack", "class Stack extends Array {}\n"), is_a("true", "boolean"), is_a("[1].values()", "Iterator"), is_a("new Map", "object")]
    bad = [is_a("1", "string"), is_a("true", "number"), is_a("1n", "number"), is_a("undefined", "null"), is_a("1.5", "int"), is_a("new Number(1)", "number"), is_a("new Shape", "Point", point),
           is_a("new C", "Point", "class C {}\nObject.defineProperty(C, 'name', {value: 'Point'});\n"), is_a("new M", "Map", "const M = {Map: class {}}.Map;\n"),
           is_a("({constructor: 'Map'})", "Map"), is_a("new C", "number", "const C = {number: class extends String {}}.number;\n"), is_a("({[Symbol.toStringTag]: 'Map'})", "Map"),
           is_a("Object.create(Shape.prototype)", "Point", point), is_a("'x'", "object")]
    check([(*row, None) for row in good] + [(*row, "wrong_type") for row in bad])


# ---- honest solutions ----------------------------------------------------------------------------

HONEST = [
    ("export function f(a) { return a + 1 }", [1], 2), ("export default function f(a) { return a + 1 }", [1], 2), ("export default (a) => a + 1", [1], 2), ("const f = (a) => a + 1;\nexport { f };", [1], 2),
    ("const g = (a) => a + 1;\nexport { g as f };", [1], 2), ("import { basename } from 'path';\nexport const f = (p) => basename(p);", ["/a/b"], "b"),
    ("import fs from 'node:fs';\nexport const f = () => typeof fs.readFileSync;", [], "function"), ("import * as os from 'os';\nfunction f() { return typeof os.EOL }", [], "string"),
    ("const x = await Promise.resolve(2);\nexport const f = () => x;", [], 2), ("module.exports = { f: (a) => a * 2 };", [4], 8), ("exports.f = function (a) { return a * 2 };", [4], 8),
    ("module.exports.f = (a) => a * 2;", [4], 8), ("function f(a) { return a }\nmodule.exports = f;", [[1]], [1]), ("module.exports = (a) => a * 2;", [4], 8), ("var f = function (a) { return -a };", [2], -2),
    ("let f = (a, b = 2) => a * b;", [3], 6), ("const f = (...xs) => xs.length;", [1, 2, 3], 3), ("function f({ a, b }) { return a + b }", [{"a": 1, "b": 2}], 3), ("f = (x) => x;", [5], 5),
    ("'use strict';\nfunction f(a) { return [...a].reverse() }", [[1, 2]], [2, 1]), ("async function f(a) { await null; return a }", [{"a": [1]}], {"a": [1]}),
    ("const f = (a) => new Promise((r) => setTimeout(() => r(a), 5));", [7], 7), ("function f() { return { then(r) { r(3) } } }", [], 3), ("function* f(n) { for (let i = 0; i < n; i++) yield i }", [3], [0, 1, 2]),
    ("async function* f() { yield 1; yield 2 }", [], [1, 2]), ("function f(a) { return a.values() }", [[1, 2]], [1, 2]), ("function f(a) { return new Map(a).keys() }", [[["x", 1]]], ["x"]),
    ("function f(a) { return { i: 0, next() { return { done: this.i >= a, value: this.i++ } }, [Symbol.iterator]() { return this } } }", [2], [0, 1]),
    ("function f() { return Float64Array.from([1, 2.5]) }", [], [1, 2.5]), ("function f() { return new Uint8Array([1, 2]) }", [], [1, 2]), ("function f() { return Buffer.from('hi') }", [], {"$bytes": "aGk="}),
    ("function f() { return new Uint8Array([104, 105]).buffer }", [], {"$bytes": "aGk="}), ("function f() { return BigInt64Array.of(1n, -2n) }", [], [1, -2]),
    ("function f() { return Int16Array.of(5) }", [], {"$typed": ["Int16Array", [5]]}), ("function f(b) { return b[1] + b.length }", [{"$bytes": "aGk="}], 107),
    ("function f(n) { let r = 1n; for (let i = 2n; i <= n; i++) r *= i; return r }", [25], 15511210043330985984000000), ("function f(n) { return BigInt(n) ** 2n }", [5], {"$bigint": "25"}),
    ("function f(n) { return n * 2n }", [{"$bigint": "4"}], {"$bigint": "8"}), ("function f() { return 2 ** 70 }", [], 2 ** 70), ("function f() { return 1e21 }", [], 1e21), ("function f() { return 0.1 + 0.2 }", [], 0.30000000000000004),
    ("function f() { return -0 }", [], -0.0), ("function f() { return NaN }", [], NAN), ("function f() { return [Infinity] }", [], [INF]), ("function f() { return new Set([NaN, 1]) }", [], {"$set": [1, NAN]}),
    ("function f(a) { return new Set(a) }", [[1, 2, 2]], {"$set": [2, 1]}), ("function f(s) { return [...s].sort() }", [{"$set": [2, 1]}], [1, 2]), ("function f() { return new Set([[1], {a: 2}]) }", [], {"$set": [{"a": 2}, [1]]}),
    ("function f(s) { const m = new Map(); for (const c of s) m.set(c, (m.get(c) || 0) + 1); return m }", ["aab"], {"a": 2, "b": 1}),
    ("function f() { return new Map([[1, 'a'], [[2], 'b']]) }", [], {"$map": [[[2], "b"], [1, "a"]]}), ("function f() { return new Map([[1, 'a']]) }", [], {"$dict": [[1, "a"]]}),
    ("function f(m) { return m.get(1) }", [{"$map": [[1, "a"]]}], "a"), ("function f() { return new Date(Date.UTC(2024, 0, 1)) }", [], {"$date": "2024-01-01T00:00:00Z"}), ("function f(d) { return d.getUTCFullYear() }", [{"$date": 0}], 1970),
    ("function f() {}", [], U), ("function f(x) { return x === undefined }", [U], True), ("function f(a) { return a[0] === null }", [[None]], True), ("function f() { return [undefined, null] }", [], [U, None]),
    ("class Node { constructor(v, next) { this.v = v; this.next = next || null } }\nfunction f() { return new Node(1, new Node(2)) }", [], {"v": 1, "next": {"v": 2, "next": None}}),
    ("class Stack extends Array {}\nfunction f() { const s = new Stack(); s.push(1, 2); return s }", [], [1, 2]), ("function f() { return Object.create(null, { a: { value: 1, enumerable: true } }) }", [], {"a": 1}),
    ("function f() { return { get a() { return 1 } } }", [], {"a": 1}), ("function f() { return JSON.parse('{\"__proto__\": 1}') }", [], {"__proto__": 1}), ("function f() { return { constructor: 1, then: 2 } }", [], {"constructor": 1, "then": 2}),
    ("Array.prototype.sum = function () { return this.reduce((a, b) => a + b, 0) };\nfunction f(a) { return a.sum() }", [[1, 2]], 3), ("String.prototype.twice = function () { return this + this };\nconst f = (s) => s.twice();", ["a"], "aa"),
    ("Object.prototype.extra = 1;\nfunction f() { return { a: 1 } }", [], {"a": 1}), ("function f(s) { return s.split('').reverse().join('') }", ["a\u00e9\U0001f600"[:2]], "\u00e9a"), ("function f() { return '\\ud800' }", [], "\ud800"),
    ("function f() { return 'a\\0b' }", [], "a\0b"), ("const { sep } = require('path');\nfunction f() { return sep }", [], "/"), ("function f() { return require('vm').runInNewContext('[1, {a: new Map([[1, 2]])}]') }", [], [1, {"a": {"$map": [[1, 2]]}}]),
    ("let n = 0;\nfunction f() { setTimeout(() => { n = 1 }, 0); return n }", [], 0), ("const memo = new Map();\nfunction f(n) { if (n < 2) return n; if (!memo.has(n)) memo.set(n, f(n - 1) + f(n - 2)); return memo.get(n) }", [50], 12586269025),
    ("process.on('exit', () => {});\nfunction f() { return process.argv.length }", [], 2), ("#!/usr/bin/env node\nfunction f() { return 1 }\nif (require.main === module) f();", [], 1),
]


def test_honest_solutions_pass():
    assert len(HONEST) >= 60
    check([(code, {"args": args, "expected": expected}, None) for code, args, expected in HONEST])


def test_in_any_order():
    many = [{"id": i, "tags": [i, None]} for i in range(3000)]
    check([("function f(r) { return r.reverse() }", {"args": [many], "expected": many, "compare": "unordered"}, None),
           ("function f() { return [2, NaN, 1] }", {"expected": [1, 2, NAN], "compare": "unordered"}, None),
           ("function f() { return new Set([3, 1]) }", {"expected": [1, 3], "compare": "unordered"}, None),
           ("function f() { return Int8Array.of(3, 1) }", {"expected": [1, 3], "compare": "unordered"}, None),
           ("function f() { return [[], new Set(), new Set()] }", {"expected": [{"$set": []}, [], {"$set": []}], "compare": "unordered"}, None),
           ("function f() { return [1.0000000001, 2] }", {"expected": [1, 2], "compare": "float"}, None),
           ("function f(r) { r[5].id = -1; return r.reverse() }", {"args": [many], "expected": many, "compare": "unordered"}, "wrong_value")])


def test_bad_cases(grade):  # noqa: F811
    for case, word in (({"expected": {"$complex": [1, 2]}}, "no complex"), ({"expected": {"$undefined": 1}}, "it takes true"), ({"expected": {"$bigint": 5}}, "digits in a string"),
                       ({"expected": {"$typed": ["List", []]}}, "one of"), ({"expected": {"$date": "2024-01-01"}}, "offset")):
        assert word in str(grade("function f() {}", [case], name="s.js", rc=2).err)
    assert "is no tag" in str(grade("def f(): pass", [{"expected": {"$undefined": True}}], rc=2).err)


NODES_OWN = ["new Blob(['x'])", "new Headers([['a', '1']])", "new FormData()", "new Response('x')", "new TextEncoder()", "new TextDecoder()", "new AbortController()", "new AbortController().signal", "new EventTarget()",
             "new Event('x')", "new URLSearchParams('a=1')", "new BroadcastChannel('x')", "new MessageChannel()", "performance", "crypto", "crypto.subtle", "new Intl.NumberFormat()",
             "new Intl.DateTimeFormat()", "new Intl.Collator()", "new Intl.Segmenter().segment('ab')", "new Intl.Locale('en')", "new WebAssembly.Memory({initial: 1})",
             "new WebAssembly.Table({initial: 1, element: 'anyfunc'})", "new WebAssembly.Global({value: 'i32'}, 1)", "Math", "JSON", "Reflect", "Atomics", "Intl", "WebAssembly", "console", "process", "module",
             "Object.assign(Math, {a: 1})", "Object.create(Math)", "Map.prototype", "new WeakSet()", "new WeakRef({})", "new FinalizationRegistry(() => 1)", "new DataView(new ArrayBuffer(1))",
             "new SharedArrayBuffer(1)", "new (require('events'))()", "require('crypto').createHash('md5')", "require('crypto').createSecretKey(Buffer.from('a'))",
             "require('crypto').generateKeyPairSync('ed25519').publicKey", "setTimeout(() => {}, 0)", "setImmediate(() => {})", "require('fs').statSync('/')", "new (require('vm').Script)('1')",
             "require('vm').createContext().globalThis || require('vm').runInNewContext('Math')", "require('vm').runInNewContext('new Intl.Collator()')", "new (require('async_hooks').AsyncLocalStorage)()",
             "new (require('http').Agent)()", "new (require('string_decoder').StringDecoder)()", "new (class extends Blob {})([])", "new (class A extends Headers {})()", "new (class extends require('events') {})()",
             "Object.create(Blob.prototype)", "Object.setPrototypeOf({a: 1}, URL.prototype)", "new Proxy(new Headers(), {})", "[new Blob([])]", "({a: new TextEncoder()})", "new Map([[1, new Intl.PluralRules()]])"]


def test_objects_of_nodes_own_classes_are_no_data():
    """What they hold is not in their fields, and some have none."""
    rows = [("function f() { return %s }" % x, {**more}, "unencodable") for x in NODES_OWN for more in ({"expected": {}}, {"expected_type": "Object", "expected": {"a": 1}})]
    check(rows[::2] + rows[1:12:2])
    check([(*ret(x, want), None) for x, want in (
        ("Object.assign(Object.create({area() { return this.w }}), {w: 2})", {"w": 2}), ("new (class Blob { constructor() { this.a = 1 } })()", {"a": 1}), ("new (class extends null { constructor() { return Object.create(new.target.prototype) } })()", {}),
        ("new (class { get [Symbol.toStringTag]() { return 'Own' } })()", {}), ("(() => { function B() { this.x = 1 } function S() { B.call(this) } S.prototype = Object.create(B.prototype); return new S() })()", {"x": 1}),
        ("(() => { function B() { this.x = 1 } B.prototype = { size() { return 1 } }; return new B() })()", {"x": 1}), ("new (new Function('return class { constructor() { this.x = 1 } }')())()", {"x": 1}),
        ("eval('new (class { x = 1 })()')", {"x": 1}), ("new Proxy(new (class { x = 1 })(), {})", {"x": 1}), ("new Intl.Locale('en-GB').toString()", "en-GB"), ("Object.keys(process.memoryUsage()).includes('rss')", True),
        ("structuredClone({a: new Map([[1, 2]])})", {"a": {"$map": [[1, 2]]}}), ("require('vm').runInNewContext('({a: 1})')", {"a": 1}), ("Object.fromEntries(new Headers([['a', '1']]))", {"a": "1"}),
        ("({[Symbol.toStringTag]: 'X', a: 1})", {"a": 1}), ("(a => { class P { #x = 1; y = 2 } return new P() })()", {"y": 2}), ("[...new Intl.Segmenter().segment('ab')].map((s) => s.segment)", ["a", "b"]))])


def test_what_is_thrown_while_a_value_is_read():
    """As if the call itself had thrown it; belljar's own limits are no exceptions of the solution's."""
    thrown = ["function* f() { yield 1; throw new RangeError('x') }", "function f() { return { get a() { throw new RangeError('x') } } }", "function f() { return new Proxy({}, { ownKeys() { throw new RangeError('x') } }) }",
              "function f() { return new Proxy([1], { get() { throw new RangeError('x') } }) }", "function f() { return { next() { throw new RangeError('x') }, [Symbol.iterator]() { return this } } }",
              "async function* f() { yield 1; throw new RangeError('x') }", "function f() { return [1, [{ get a() { throw new RangeError('x') } }]] }", "class Low extends RangeError {}\nfunction* f() { throw new Low('x') }",
              "function f() { return { get then() { throw new RangeError('x') } } }", "function f() { return Object.defineProperty([1], 0, { get() { throw new RangeError('x') } }) }"]
    rows = [(code, {"expected_exception": "RangeError"}, None) for code in thrown]
    rows += [(code, {"expected": [1]}, "exception") for code in thrown]
    rows += [(code, {"expected_exception": "RangeError"}, reason) for code, reason in (
        ("function* f() { for (;;) yield 1 }", "unencodable"), ("async function* f() { for (;;) yield 1 }", "unencodable"), ("function f() { const a = []; a.push(a); return a }", "unencodable"),
        ("function f() { return ['x'.repeat(2 ** 26), 'x'.repeat(2 ** 26)] }", "output"), ("function f() { return 'x'.repeat(2 ** 28) }", "output"), ("function f() { return new Promise(() => {}) }", "unencodable"))]
    rows += [("function f() { const b = new ArrayBuffer(8), v = new Uint8Array(b); structuredClone(b, {transfer: [b]}); return %s }" % x, {"expected_exception": "TypeError"}, reason)
             for x, reason in (("b", "unencodable"), ("[b]", "unencodable"))]
    rows += [("const again = process.on('beforeExit', () => done && done(3));\nlet done;\nfunction f() { return new Promise((r) => { done = r }) }", {"expected": 3}, None)]
    check(rows)


def test_no_data():
    check([(*ret(x, None), "unencodable") for x in ("() => 1", "Symbol()", "/a/", "new Error('x')", "[Promise.resolve(1)]", "new WeakMap()", "globalThis", "(() => { const a = []; a.push(a); return a })()",
                                                    "new URL('http://a/')", "(function* () { for (;;) yield 1 })()")])


@pytest.mark.parametrize("code", [
    "function f(x) { console.log('a\\0b\\ud800'); return x }", "function f(x) { throw new Error('a\\0b\\ud800') }", "function f() { return {'a\\0b': '\\udc00'} }",
    "class E extends Error {}\nObject.defineProperty(E, 'name', {value: 'a\\0\\ud800'});\nfunction f() { throw new E('\\0') }", "throw new Error('\\0\\ud800')", "globalThis['a\\0b'] = 1;\nfunction f(x) { return x }",
    "class E {}\nObject.defineProperty(E, 'name', {value: '\\0\\udfff'});\nfunction f() { return new E }", "function f() { const e = new Error('x'); e.stack = '\\0\\ud800'; throw e }",
], ids=str)
def test_any_text_is_reported(grade, code):  # noqa: F811
    assert grade(code, [{"args": [1], "expected": 1}, {"args": [1], "expected": "\0"}], name="s.js")["reason"] != "internal"


# ---- tricks --------------------------------------------------------------------------------------
# A wrong solution of: the sum of two numbers. None is right for both cases.

TRICKS = {
    "to_json": "Array.prototype.toJSON = Object.prototype.toJSON = Number.prototype.toJSON = () => 3;\nfunction f() { return 1 }",
    "setters": "for (const k of ['v', 'e', 'u', 'changed', 'text', 'missing']) Object.defineProperty(Object.prototype, k, { set() {}, get() { return 'i3;' } });\nfunction f() { return 1 }",
    "to_primitive": "function f() { return { [Symbol.toPrimitive]: () => 3, valueOf: () => 3, toString: () => '3' } }",
    "value_of": "function f() { const n = new Number(1); n.valueOf = () => 3; return n }",
    "boxed": "function f(a, b) { return new Number(a + b) }",
    "proxy": "function f() { return new Proxy({}, { get: (t, k) => (k === Symbol.toPrimitive ? () => 3 : 3), getPrototypeOf: () => Number.prototype }) }",
    "proxy_array": "function f() { return new Proxy([3], {}) }",
    "getter": "let n = 0;\nfunction f() { return { get sum() { return n++ } } }",
    "buffer_from": "Buffer.from = () => new Uint8Array([105, 51, 59]);\nfunction f() { return 1 }",
    "buffer_concat": "const old = Buffer.concat;\nBuffer.concat = (l) => old([...l, Buffer.from('i3;')]);\nfunction f() { return 1 }",
    "latin1": "Buffer.prototype.latin1Slice = () => 'i3;';\nfunction f() { return 1 }",
    "write_double": "Buffer.prototype.writeDoubleBE = function () { this.fill(0) };\nfunction f() { return 1.5 }",
    "json": "JSON.stringify = () => '{\"passed\": true}';\nfunction f() { return 1 }",
    "map_methods": "Map.prototype.get = Map.prototype.set = Map.prototype.entries = function () { return [[1, 3]] };\nfunction f() { return 1 }",
    "set_values": "Set.prototype.values = Set.prototype[Symbol.iterator] = function* () { yield 3 };\nfunction f() { return new Set([1]) }",
    "array_iterator": "Array.prototype[Symbol.iterator] = function* () { yield 3 };\nfunction f() { return 1 }",
    "object_is": "Object.is = () => true;\nNumber.isSafeInteger = () => false;\nfunction f() { return 1 }",
    "types": "const t = require('util').types;\nfor (const k of Object.keys(t)) t[k] = () => true;\nfunction f() { return { a: 3 } }",
    "deep_equal": "const u = require('util');\nu.isDeepStrictEqual = () => true;\nrequire('assert').deepStrictEqual = () => {};\nfunction f() { return 1 }",
    "require": "const M = require('module');\nM._load = () => ({});\nM.prototype.require = () => ({});\nfunction f() { return 1 }",
    "write_frame": "function f() { require('fs').writeSync(1, Buffer.from('\\x03\\0\\0\\0i3;', 'latin1')); return 1 }",
    "write_many": "const fs = require('fs');\nfunction f() { for (let i = 0; i < 50; i++) fs.writeSync(1, Buffer.concat([Buffer.from([19, 0, 0, 0]), Buffer.alloc(16), Buffer.from('i3;')])); return 1 }",
    "write_at_load": "const b = Buffer.from('m1:s1:vb3:i3;');\nconst h = Buffer.alloc(4);\nh.writeUInt32LE(b.length + 16);\nrequire('fs').writeSync(1, Buffer.concat([h, Buffer.alloc(16), b]));\nfunction f() { return 1 }",
    "patched_write": "const fs = require('fs'), w = fs.writeSync;\nfs.writeSync = (fd, b, ...r) => w(fd, Buffer.from(b.toString('latin1').replace('i1;', 'i3;'), 'latin1'), ...r);\nfunction f() { return 1 }",
    "exit": "function f() { process.exit(0) }",
    "exit_at_load": "process.exit(0);\nfunction f() { return 1 }",
    "exit_hook": "process.on('exit', () => { process.exitCode = 0; require('fs').writeSync(1, 'passed') });\nfunction f() { process.exit(0) }",
    "really_exit": "function f() { process.reallyExit(0) }",
    "before_exit": "process.on('beforeExit', () => process.exit(0));\nasync function f() { await new Promise(() => {}) }",
    "late": "function f() { return new Promise((r) => setTimeout(() => r(1), 50)) }",
    "thenable_liar": "function f() { let n = 0; return { then(r) { n++; r({ then(q) { q(n) } }) } } }",
    "never": "function f() { return { then() {} } }",
    "uncaught": "process.on('uncaughtException', () => {});\nfunction f() { setImmediate(() => { throw 1 }); return 1 }",
    "kill": "function f() { process.kill(process.pid, 'SIGKILL') }",
    "abort": "function f() { process.abort() }",
    "read_question": "function f() { const b = Buffer.alloc(100); try { require('fs').readSync(0, b) } catch (e) {} return 1 }",
    "close": "function f() { require('fs').closeSync(1); return 1 }",
    "prepare_stack": "let seen = [];\nError.prepareStackTrace = (e, frames) => { for (const c of frames) { try { seen.push(c.getThis(), c.getFunction()) } catch (x) {} } return seen };\n"
                     "function f() { new Error().stack; return seen.find((x) => x && x.expected !== undefined) || 1 }",
    "caller": "function f() { try { return f.caller.arguments[0].expected } catch (e) { return 1 } }",
    "inspector": "function f() { try { const s = new (require('inspector').Session)(); s.connect(); return 1 } catch (e) { return 1 } }",
    "search_files": "const fs = require('fs');\nfunction f() { for (const d of ['/workspace', '/etc/belljar', '/tmp', '/proc/self/fd']) for (const n of fs.readdirSync(d)) { try { "
                    "const m = /\"expected\": ?(\\d+)/.exec(fs.readFileSync(`${d}/${n}`, 'utf8')); if (m) return Number(m[1]) } catch (e) {} } return 1 }",
    "environment": "function f() { return Number(process.env.EXPECTED) || 1 }",
    "worker": "const { Worker } = require('worker_threads');\nfunction f() { new Worker(\"require('fs').writeSync(1, 'i3;')\", { eval: true }); return 1 }",
    "child": "function f() { require('child_process').spawnSync('sh', ['-c', 'printf i3 >&1'], { stdio: ['ignore', 1, 'ignore'] }); return 1 }",
    "type_of": "class Num extends Number {}\nfunction f(a, b) { return new Num(a + b) }",
    "string": "function f(a, b) { return `${a + b}` }",
    "in_array": "function f(a, b) { return [a + b] }",
    "close_to": "function f(a, b) { return a + b + 1e-12 }",
    "bool": "function f() { return true }",
    "nan": "function f() { return NaN }",
    "undefined": "function f() {}",
    "all_answers": "function f() { return new Set([3, 7]) }",
    "iterator": "function f() { return [3, 7].values() }",
    "arguments": "function f() { arguments[0] = 3; return arguments }",
    "args_changed": "function f(a, b) { this.expected = 1; return 1 }",
    "symbols": "function f() { return { [Symbol.for('expected')]: 3 } }",
    "function_call": "Function.prototype.apply = Function.prototype.call = () => 3;\nfunction f() { return 1 }",
    "reflect_apply": "Reflect.apply = () => 3;\nReflect.ownKeys = () => [];\nfunction f() { return 1 }",
    "hrtime": "process.hrtime.bigint = () => 0n;\nfunction f() { return 1 }",
    "species": "class A extends Array { static get [Symbol.species]() { return Number } get length() { return 0 } }\nfunction f() { return new A(3) }",
    "then_proto": "Object.prototype.then = function (r) { r(3) };\nfunction f() { return 1 }",
    "generator_once": "function* f() { yield 3 }",
    "regexp": "RegExp.prototype.test = () => true;\nRegExp.prototype.exec = () => ['3'];\nfunction f() { return 1 }",
}


def test_tricks_fail():
    cases = [{"args": [1, 2], "expected": 3, "timeout_s": 1}, {"args": [3, 4], "expected": 7, "timeout_s": 1}]
    got = verdicts_of_all(TRICKS.values(), cases)
    assert not [name for name, row in zip(TRICKS, got) if all(reason is None for reason in row)]
    assert not [(name, row) for name, row in zip(TRICKS, got) if None in row]
    assert all("internal" not in row for row in got)


def verdicts_of_all(codes, cases):
    text = "".join(json.dumps({"language": "node", "code": code, "test": {"func": "f", "cases": cases}}) + "\n" for code in codes)
    r = harness.run("batch", "-", input=text.encode(), timeout=harness.seconds(300))
    assert r.rc == 0, (r.rc, r.out[-1000:], r.err)
    found = [json.loads(line) for line in r.out.splitlines()]
    return [[row["reason"] for row in line["test_results"]] if line.get("test_results") else [line["reason"]] for line in found]


# ---- data sets -----------------------------------------------------------------------------------

def own_task(name, prompt, solution, test):
    return {"task_id": "JavaScript/%s" % name, "prompt": prompt, "canonical_solution": solution, "test": test}


HELPED = "const twice = (x) => {\n  return x * 2;\n}\n\n/* Half of x. */\nconst half = (x) => {\n"
TASKS = [
    own_task(1, HELPED, "  return x / 2;\n}\n", "const t = () => { for (let i = 0; i < 9; i++) console.assert(half(twice(i)) === i) }\nt()\n"),
    own_task(2, "const f = (x) => {\n", "  return x < 0 ? null : x;\n}\n", "console.assert(f(-1) === null);\nconsole.assert(f(1) === 1);\n"),
    own_task(3, "const f = (xs) => {\n", "  return xs.map((x) => [x, x]);\n}\n", "const assert = require('assert');\nassert.deepStrictEqual(f([1]), [[1, 1]]);\nassert.throws(() => f(null), TypeError);\n"),
    own_task(4, "const f = async (x) => {\n", "  return x + 1;\n}\n", "const assert = require('assert');\n(async () => { assert.strictEqual(await f(1), 2) })();\n"),
    own_task(5, "const f = (xs) => {\n", "  xs.sort();\n}\n", "const a = [2, 1];\nf(a);\nconsole.assert(JSON.stringify(a) === '[1,2]');\ntry { f(null) } catch (e) { }\n"),
]
SAMPLES = [
    (1, HELPED + "  return x / 2;\n}\n", True), (1, "const twice = (x) => x;\nconst half = (x) => x;\n", False), (1, "twice = (x) => x;\nhalf = (x) => x;\n", False),
    (1, "const twice = (x) => x;\nconst half = (x) => x;\nglobalThis.twice = twice;\nmodule.exports = { twice, half };\n", False), (1, "const half = (x) => x / 2;\n", True),
    (2, "const f = (x) => (x < 0 ? null : x);\n", True), (2, "const f = (x) => { if (x >= 0) return x; };\n", False), (2, "const f = (x) => (x < 0 ? null : BigInt(x));\n", False),
    (2, "const f = (x) => (x < 0 ? null : new Number(x));\n", False), (2, "const f = async (x) => (x < 0 ? null : x);\n", False), (2, "export const f = (x) => (x < 0 ? null : x);\n", True),
    (3, "const f = (xs) => xs.map((x) => [x, x]);\n", True), (3, "const f = (xs) => xs.map((x) => new Map([[x, x]]));\n", False), (3, "const f = (xs) => (xs ? xs.map((x) => [x, x]) : 1);\n", False),
    (3, "const f = (xs) => { if (!xs) { const a = []; a.push(a); return a } return xs.map((x) => [x, x]) };\n", False), (3, "const f = (xs) => { if (!xs) process.exit(0); return xs.map((x) => [x, x]) };\n", False),
    (4, "const f = async (x) => x + 1;\n", True), (4, "const f = async (x) => x;\n", False), (4, "const f = async (x) => { throw new Error('x') };\n", False),
    (5, "const f = (xs) => { xs.sort() };\n", True), (5, "const f = (xs) => {};\n", False), (5, "const f = (xs) => { if (!xs) process.exit(0); xs.sort() };\n", False),
    (5, "const f = (xs) => { xs.sort(); xs.push(xs) };\n", False), (5, "const f = (xs) => { throw new Error('\\0\\ud800') };\n", False),
]


def test_tests_that_are_javascript(tmp_path):  # noqa: F811
    data, samples, out = tmp_path / "tasks.jsonl", tmp_path / "samples.jsonl", tmp_path / "out.jsonl"
    data.write_text("".join(json.dumps(t) + "\n" for t in TASKS))
    samples.write_text("".join(json.dumps({"task_id": "JavaScript/%d" % n, "solution": code}) + "\n" for n, code, _ in SAMPLES))
    r = harness.run("eval", "humaneval-x", "--data", str(data), "--samples", str(samples), "--out", str(out), "-q", timeout=harness.seconds(120))
    assert r.rc in (0, 1), r.err
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert not [(row["solution"], row["passed"], row["result"]) for row, (_, _, good) in zip(rows, SAMPLES) if row["passed"] != good]
    assert len(rows) == len(SAMPLES) and not [row for row in rows if row["belljar"]["reason"] in ("internal", "test_error")]


def test_what_is_said_of_failures(grade):  # noqa: F811
    """The fields that feedback is made of."""
    many = list(range(300))
    code = """class Own extends Error {}
function f(k, xs) {
  const a = Array.from({ length: 300 }, (_, i) => i);
  if (k === 0) { a[250] = -1; return a }
  if (k === 1) return { a };
  if (k === 2) return 'x'.repeat(400) + 'y';
  if (k === 3) return Float64Array.from(a);
  xs.push(1);
  if (k === 4) throw new Own('no');
  return 1;
}
"""
    cases = [{"args": [0, []], "expected": many}, {"args": [1, []], "expected": {"a": many[:-1]}}, {"args": [2, []], "expected": "x" * 400 + "z"}, {"args": [3, []], "expected": many[:-1] + [0]},
             {"args": [4, []], "expected_exception": "TypeError"}, {"args": [4, []], "expected_exception": "Own", "expected_args": [4, []]}, {"args": [5, []], "expected_exception": "Own"}]
    rows = grade(code, cases, name="s.js")["test_results"]
    assert [row["differs"]["path"] for row in rows[:4]] == ["[250]", "['a']", "", "[299]"], rows
    assert rows[0]["differs"] == {"path": "[250]", "expected": "250", "got": "-1"} and rows[2]["differs"]["at"] == 400
    assert [(row["reason"], row.get("expected_exception")) for row in rows[4:]] == [("exception", "TypeError"), ("wrong_value", None), ("no_exception", "Own")], rows
    assert rows[5]["arguments"] == {"expected": "[4, []]", "got": "[4, [1]]"}


def test_values_that_javascript_does_not_have(tmp_path):  # noqa: F811
    (tmp_path / "s.js").write_text("function f() { return true }\n")
    for tag, value in (("$deque", [1]), ("$decimal", "1"), ("$fraction", "1/2"), ("$complex", [1, 2]), ("$timedelta", [1, 0, 0])):
        (tmp_path / "c.json").write_text(json.dumps([{"args": [], "expected": {tag: value}}]))
        r = harness.run("test", str(tmp_path / "s.js"), "--func", "f", "--cases", str(tmp_path / "c.json"))
        assert r.rc == 2 and b"JavaScript has no" in r.err, (tag, r.rc, r.err)
