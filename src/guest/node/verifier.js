// ---- the verifier's side, for tests that are JavaScript: see src/guest/python/verifier.py ----------------------------------------------------
(async () => {
  const { encodeFrame, decode, ANSWER_MAX, readFrame, writeFrame } = $data;
  const VALUES = 4000000; // as many an answer may have
  const { randomBytes } = require('crypto');
  const assert = require('assert'), vm = require('vm');
  const from = Buffer.from, concat = Buffer.concat;

  // What ends a test, also one that catches everything.
  let ended = null;
  class End extends Error {
    constructor(report, text) {
      super(text);
      this.report = report;
      ended = ended || this;
    }
  }
  class Gone extends End { constructor(why) { super({ gone: why }, 'gone'); } }
  class Failure extends End { constructor(reason, text) { super({ result: `failed: ${reason === 'tampering' ? reason : text}`, reason, detail: text }, text); } }
  class Tampered extends Failure { constructor(text) { super('tampering', text); } }

  function hear() {
    const f = readFrame(0);
    if (!f) process.exit(0);
    return [String.fromCharCode(f[0]), f.subarray(1)];
  }

  function ask(op, request, ms) {
    const nonce = randomBytes(16), head = Buffer.alloc(8); // the clock's time for it; CPU time is the sample's as a whole
    head.writeUInt32LE(Math.min(ms, 0xffffffff));
    writeFrame(1, from('C'), head, from(op), nonce, encodeFrame(request));
    const [kind, all] = hear();
    if (kind === 'X') throw new Gone(JSON.parse(all.toString()));
    const data = all.subarray(8);
    if (kind !== 'A' || Buffer.compare(data.subarray(0, 16), nonce) !== 0) throw new Tampered('an answer to nobody\'s question');
    let r;
    try { r = decode(data.subarray(16), null, VALUES); } catch (e) { throw new Tampered(`an answer that is no data: ${e.message}`); }
    if (!r || typeof r !== 'object' || Array.isArray(r)) throw new Tampered('an answer that is no data');
    if (r.large !== undefined) throw new Failure('output', `its answer is too large: it may have ${ANSWER_MAX} bytes`);
    return r;
  }

  const ERRORS = { Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };

  // What the candidate threw, as an error of ours. That its class is one of JavaScript's is its driver's word, which it could have kept by throwing such a one.
  function thrown(info) {
    const words = (x) => (typeof x === 'string' ? x : '');
    if (!info || typeof info !== 'object' || !Array.isArray(info.chain)) throw new Tampered('an exception that is none');
    const known = info.chain.find((c) => Array.isArray(c) && c[0] === false && Object.hasOwn(ERRORS, c[1]));
    const e = new (known ? ERRORS[known[1]] : Error)(words(info.message));
    e.candidate = { type: words(info.type).slice(0, 100), bases: info.chain.map((c) => words(c && c[1]).slice(0, 100)).slice(0, 10), message: words(info.message).slice(0, 1000) };
    for (const k of ['text', 'traceback']) if (words(info[k])) e.candidate[k] = info[k].slice(0, 3000);
    if (Number.isSafeInteger(info.line)) e.candidate.line = info.line;
    return e;
  }

  function bytes(b, what) {
    if (!(b instanceof Uint8Array)) throw new Tampered(`${what} that is none`);
    try { return decode(from(b.buffer, b.byteOffset, b.length), (n) => remote(n), VALUES); } catch (e) { throw new Tampered(`${what} that is no data: ${e.message}`); }
  }

  function result(r) {
    if (r.e !== undefined) throw thrown(r.e);
    if (r.u !== undefined) throw new Failure('unencodable', `the value cannot be brought out of the jar: ${r.u}`);
    if (r.missing !== undefined) throw new ReferenceError(`${r.missing} is not defined`);
    return bytes(r.v, 'a value');
  }

  let limit = 30000, calls = 0;

  // Arguments that were changed in place over there are changed here too.
  function update(mine, theirs) {
    if (Array.isArray(mine) && Array.isArray(theirs)) {
      mine.length = 0;
      for (const [i, x] of theirs.entries()) if (i in theirs) mine[i] = x;
      mine.length = theirs.length;
    } else if ((mine instanceof Map && theirs instanceof Map) || (mine instanceof Set && theirs instanceof Set)) {
      mine.clear();
      for (const x of theirs) if (mine instanceof Map) mine.set(...x); else mine.add(x);
    } else if (isRecord(mine) && isRecord(theirs)) {
      for (const k of Object.keys(mine)) delete mine[k];
      for (const k of Object.keys(theirs)) Object.defineProperty(mine, k, { value: theirs[k], writable: true, enumerable: true, configurable: true });
    }
  }

  const isRecord = (x) => x !== null && typeof x === 'object' && Object.getPrototypeOf(x) === Object.prototype;

  function invoke(request, args) {
    calls++;
    const r = ask('C', { ...request, args }, limit);
    if (r.changed === null) throw new Failure('args_unencodable', `its arguments cannot be compared afterwards: ${r.lost}`);
    if (r.changed !== undefined) {
      const now = bytes(r.changed, 'arguments');
      if (!Array.isArray(now)) throw new Tampered('arguments that are none');
      args.forEach((mine, i) => update(mine, now[i]));
    }
    return r.later === true ? promise(r) : result(r);
  }

  // A promise stays one for the test: it is no value.
  async function promise(r) {
    return result(r);
  }

  const remote = (n) => (...args) => invoke({ ref: n }, args);

  const DEFINED = /^(?:export\s+)?(?:async\s+)?(?:const|let|var|function\*?|class)\s+([\w$]+)/gm;

  // A prompt ends in a function that the candidate goes on with. What it defines before that is given, and the verifier's own.
  function given(prompt) {
    const all = [...prompt.matchAll(DEFINED)], last = all.pop(), names = all.map((m) => m[1]);
    if (!names.length) return {};
    const shown = names.map((n) => `${n}: typeof ${n} === 'undefined' ? undefined : ${n}`).join(', ');
    const text = `'use strict';\n${prompt.slice(0, last.index)}\n;({ ${shown} });`;
    return new vm.Script(`(function (require, module, exports) { return eval(${JSON.stringify(text)}); })`, { filename: 'given' }).runInThisContext()(require, { exports: {} }, {});
  }

  function names(task) {
    const known = new Map(Object.entries(given(task.prompt)));
    return new Proxy(Object.create(null), {
      has: (_, name) => typeof name === 'string' && (known.has(name) || (!(name in globalThis) && !['require', 'console', 'module', 'exports', 'undefined'].includes(name))),
      get(_, name) {
        if (typeof name === 'symbol') return undefined;
        if (!known.has(name)) known.set(name, (...args) => invoke({ target: name }, args));
        return known.get(name);
      },
      set(_, name, value) { known.set(name, value); return true; },
    });
  }

  class Failed extends Error {}

  // A report that any reader of JSON takes: no half of a surrogate pair, no number that is none, nothing that goes on for ever.
  function clean(x, depth = 0) {
    if (typeof x === 'string') return x.slice(0, 10000).toWellFormed();
    if (typeof x === 'number') return Number.isFinite(x) && Math.abs(x) < 2 ** 53 ? x : String(x);
    if (x === null || typeof x === 'boolean') return x;
    if (typeof x !== 'object') return String(x).slice(0, 200);
    if (depth > 6) return '...';
    if (Array.isArray(x)) return x.slice(0, 1000).map((i) => clean(i, depth + 1));
    return Object.fromEntries(Object.entries(x).filter(([, v]) => v !== undefined).slice(0, 100).map(([k, v]) => [clean(k), clean(v, depth + 1)]));
  }

  const quiet = { log() {}, info() {}, warn() {}, error() {}, debug() {}, assert(ok, ...words) { if (!ok) throw new Failed(words.map(String).join(' ') || 'assertion failed'); } };

  function failure(e) {
    const text = String(e && e.message).slice(0, 300);
    if (e && e.candidate) return { passed: false, result: `failed: ${e.candidate.type}: ${e.candidate.message}`, reason: 'exception', exception: e.candidate, detail: text };
    return { passed: false, result: `failed: ${text}`, reason: e instanceof Failed || e instanceof assert.AssertionError ? 'wrong_value' : 'test_error', detail: text };
  }

  let rejected = [];
  process.on('unhandledRejection', (e) => rejected.push(e));

  async function test(task) {
    limit = task.call_ms || 30000;
    calls = 0;
    rejected = [];
    const loaded = ask('L', { path: '/workspace/solution.js' }, task.load_ms || 30000);
    if (loaded.e !== undefined) {
      const i = thrown(loaded.e).candidate;
      return { passed: false, result: `failed: ${i.type}: ${i.message}`, reason: i.type === 'SyntaxError' ? 'syntax' : 'load_error', exception: i, detail: 'the solution does not load' };
    }
    try {
      const f = new vm.Script(`(function (scope, require, console, module, exports) { with (scope) { ${task.test}\n } })`, { filename: 'test' }).runInThisContext();
      f(names(task), require, quiet, {}, {});
      // What a test does after an await: every promise of the candidate's is kept or broken already.
      await new Promise((done) => setImmediate(done));
    } catch (e) {
      return failure(e);
    }
    if (rejected.length) return failure(rejected[0]);
    return calls ? { passed: true, result: 'passed', calls } : { passed: false, result: 'failed: the test did not call it', reason: 'test_error' };
  }

  const internal = (e) => ({ passed: false, internal: String((e && e.stack) || e).slice(0, 500) });

  async function attempt(task) {
    ended = null;
    const report = await test(task).catch(internal);
    return ended ? { passed: false, ...ended.report } : report;
  }

  const starved = (report) => Boolean(report.gone && report.gone.starved);
  let impatient = false; // a second chance was in vain: there are no more

  async function grade(data) {
    const nl = data.indexOf(10), task = JSON.parse(data.toString('utf8', 0, nl)), line = JSON.parse(data.toString('utf8', nl + 1));
    const whole = { ...task, test: line.test !== undefined ? line.test : line.tests, prompt: String(line.prompt || '') };
    let report = await attempt(whole);
    if (starved(report) && !impatient) {
      // The clock has ended it though it was at work: once more, with five times the patience (src/grade/patience.h).
      writeFrame(1, from('N\x05'));
      while (hear()[0] !== 'Y');
      report = await attempt({ ...whole, call_ms: (whole.call_ms || 30000) * 5, load_ms: (whole.load_ms || 30000) * 5 });
      impatient = starved(report);
    }
    return report;
  }

  writeFrame(1, from('R{}'));
  for (;;) {
    const [kind, data] = hear();
    if (kind === 'T') writeFrame(1, from('R'), from(JSON.stringify(clean(await grade(data).catch(internal)))));
  }
})();
