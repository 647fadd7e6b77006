// ---- the verifier's side, for tests that are JavaScript: see src/guest/python/verifier.py ----------------------------------------------------
(() => {
  const { encode, decode, readFrame, writeFrame } = $data;
  const { randomBytes } = require('crypto');
  const assert = require('assert'), vm = require('vm');
  const from = Buffer.from, concat = Buffer.concat;

  class Gone extends Error { constructor(why) { super('gone'); this.why = why; } }
  class Tampered extends Error {}

  function hear() {
    const f = readFrame(0);
    if (!f) process.exit(0);
    return [String.fromCharCode(f[0]), f.subarray(1)];
  }

  function ask(op, request, ms) {
    const nonce = randomBytes(16), head = Buffer.alloc(4);
    head.writeUInt32LE(ms);
    writeFrame(1, from('C'), head, from(op), nonce, encode(request, null));
    const [kind, data] = hear();
    if (kind === 'X') throw new Gone(JSON.parse(data.toString()));
    if (kind !== 'A' || Buffer.compare(data.subarray(0, 16), nonce) !== 0) throw new Tampered('an answer to nobody\'s question');
    let r;
    try { r = decode(data.subarray(16), null); } catch (e) { throw new Tampered(`an answer that is no data: ${e.message}`); }
    if (!r || typeof r !== 'object' || Array.isArray(r)) throw new Tampered('an answer that is no data');
    return r;
  }

  function result(r) {
    if (r.e) {
      const info = r.e, base = [].concat(info.bases || []).map((n) => globalThis[n]).find((c) => typeof c === 'function' && (c === Error || c.prototype instanceof Error)) || Error;
      const e = new base(String(info.message));
      e.candidate = info;
      throw e;
    }
    if (r.u !== undefined) throw new TypeError(`the value cannot be brought out of the jar: ${r.u}`);
    if (r.missing !== undefined) throw new ReferenceError(`${r.missing} is not defined`);
    try { return decode(from(r.v), (n, name) => remote(n, name)); } catch (e) { throw new Tampered(`a value that is no data: ${e.message}`); }
  }

  let limit = 30000, calls = 0;

  // Arguments that were changed in place over there are changed here too.
  function update(mine, theirs) {
    if (Array.isArray(mine) && Array.isArray(theirs)) mine.splice(0, mine.length, ...theirs);
  }

  function invoke(request, args) {
    calls++;
    const r = ask('C', { ...request, args }, limit);
    if (r.changed) {
      try { decode(from(r.changed), null)[0].forEach((t, i) => update(args[i], t)); } catch (e) { throw new Tampered('arguments that are no data'); }
    }
    return result(r);
  }

  const remote = (n) => (...args) => invoke({ ref: n }, args);

  function names(task) {
    const known = new Map();
    return new Proxy(Object.create(null), {
      has: (_, name) => typeof name === 'string' && !(name in globalThis) && !['require', 'console', 'module', 'exports', 'undefined'].includes(name),
      get(_, name) {
        if (typeof name === 'symbol') return undefined;
        if (!known.has(name)) known.set(name, (...args) => invoke({ target: name }, args));
        return known.get(name);
      },
      set(_, name, value) { known.set(name, value); return true; },
    });
  }

  class Failed extends Error {}

  function test(task) {
    limit = task.call_ms || 30000;
    calls = 0;
    const loaded = ask('L', { path: '/workspace/solution.js' }, task.load_ms || 30000);
    if (loaded.e) {
      const i = loaded.e;
      return { passed: false, result: `failed: ${i.type}: ${i.message}`, reason: i.type === 'SyntaxError' ? 'syntax' : 'load_error', exception: i, detail: 'the solution does not load' };
    }
    const quiet = { log() {}, info() {}, warn() {}, error() {}, debug() {}, assert(ok, ...words) { if (!ok) throw new Failed(words.map(String).join(' ') || 'assertion failed'); } };
    try {
      const f = new vm.Script(`(function (scope, require, console, module, exports) { with (scope) { ${task.test}\n } })`, { filename: 'test' }).runInThisContext();
      f(names(task), require, quiet, {}, {});
    } catch (e) {
      if (e instanceof Gone || e instanceof Tampered) throw e;
      if (e && e.candidate) return { passed: false, result: `failed: ${e.candidate.type}: ${e.candidate.message}`, reason: 'exception', exception: e.candidate, detail: String(e.message).slice(0, 300) };
      const wrong = e instanceof Failed || e instanceof assert.AssertionError;
      return { passed: false, result: `failed: ${String(e && e.message).slice(0, 300)}`, reason: wrong ? 'wrong_value' : 'test_error', detail: String(e && e.message).slice(0, 300) };
    }
    return calls ? { passed: true, result: 'passed', calls } : { passed: false, result: 'failed: the test did not call it', reason: 'test_error' };
  }

  writeFrame(1, from('R{}'));
  for (;;) {
    const [kind, data] = hear();
    if (kind !== 'T') continue;
    let report;
    try {
      const nl = data.indexOf(10), task = JSON.parse(data.toString('utf8', 0, nl)), line = JSON.parse(data.toString('utf8', nl + 1));
      report = test({ ...task, test: line.test !== undefined ? line.test : line.tests });
    } catch (e) {
      if (e instanceof Gone) report = { passed: false, gone: e.why };
      else if (e instanceof Tampered) report = { passed: false, result: 'failed: tampering', reason: 'tampering', detail: e.message };
      else report = { passed: false, internal: String((e && e.stack) || e).slice(0, 500) };
    }
    writeFrame(1, from('R'), from(JSON.stringify(report)));
  }
})();
