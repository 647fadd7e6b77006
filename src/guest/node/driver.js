// ---- the candidate's side: see src/guest/python/driver.py -----------------------------------------------------------------------------------
(async () => {
  const Module = require('module'), path = require('path');
  const { encode, encodeFrame, decode, Unencodable, TooLarge, ITEMS, ANSWER_MAX, solution, string, builtin, className, readFrame, writeFrame } = $data;
  const { hrtime, exit } = process, { apply } = Reflect;
  const from = Buffer.from, concat = Buffer.concat, compare = Buffer.compare;
  const { getPrototypeOf } = Object, errorProto = Error.prototype, objectProto = Object.prototype;
  const Wait = Promise, { then } = Promise.prototype, later = setImmediate;
  const loadModule = (url) => import(url);
  const defineStream = process.stdout;
  let printed = [], size = 0, get = null, exported, file = '', lines = [], shift = 0;
  const kept = new Map();

  // What it prints is taken; descriptor 1 is the channel.
  defineStream.write = (chunk, encoding, done) => {
    const b = typeof chunk === 'string' ? from(chunk, typeof encoding === 'string' ? encoding : 'utf8') : from(chunk);
    if (size < 65536) { printed.push(b); size += b.length; }
    const f = typeof encoding === 'function' ? encoding : done;
    if (f) process.nextTick(f);
    return true;
  };
  const taken = () => {
    const b = concat(printed).subarray(0, 65536);
    printed = [];
    size = 0;
    return b;
  };

  function keep(x) {
    kept.set(kept.size + 1, x);
    return `h${kept.size},${typeof x === 'function' ? 1 : 0};${string(typeof x === 'function' ? 'function' : className(getPrototypeOf(x)))}`;
  }

  const cut = (x, n) => { try { return String(x).slice(0, n); } catch (e) { return ''; } };

  // What was thrown: the classes that it comes from, each with whether it is one of the solution's own. Those of JavaScript are known by their prototypes. What is
  // no object has only a type (null).
  function classes(e) {
    if ((typeof e !== 'object' && typeof e !== 'function') || e === null) return [[null, e === null ? 'null' : typeof e]];
    const found = [];
    for (let p = getPrototypeOf(e); p && p !== objectProto && found.length < 20; p = getPrototypeOf(p)) {
      const known = p === errorProto ? 'Error' : builtin(p) || (p === assertion() ? 'AssertionError' : '');
      found.push(known ? [false, known] : [true, className(p)]);
    }
    return found.length ? found : [[null, 'object']];
  }

  // Loading it takes time: only for who has loaded it.
  function assertion() {
    return process.moduleLoadList.includes('NativeModule assert') ? require('assert').AssertionError.prototype : null;
  }

  function describe(e) {
    const info = { type: 'Error', bases: [], chain: [], message: '' };
    try {
      info.chain = classes(e);
      info.bases = info.chain.map(([, name]) => name);
      info.type = info.bases[0];
      if (info.chain[0][0] === null) {
        info.message = cut(e, 1000);
        return info;
      }
      info.message = cut(e.message, 2000);
      const stack = cut(e.stack || '', 100000).replaceAll(`${file}.mjs`, file).split('\n');
      const mine = stack.find((l) => l.includes(file)), m = mine && /:(\d+)(?::(\d+)\)?)?$/.exec(mine);
      if (m && Number(m[1]) > shift) {
        info.line = Number(m[1]) - shift;
        info.text = (lines[info.line - 1] || '').trim().slice(0, 300);
      }
      info.traceback = stack.filter((l) => !l.includes('/etc/belljar/') && !l.includes('node:internal')).slice(0, 8).join('\n').slice(0, 3000);
    } catch (_) { /* it lies even about that */ }
    return info;
  }

  const MODULE = /^(Cannot use import statement outside a module|Unexpected token 'export'|Cannot use 'import\.meta' outside a module|await is only valid in async functions)/;

  // Declared names are the module's own: only what is inside of it can look them up.
  async function evaluate(setup, source) {
    const m = new Module(file, null);
    m.filename = file;
    m.paths = Module._nodeModulePaths(path.dirname(file));
    try {
      m._compile(`${setup}${source}\n;module.__belljar = (n) => eval(n);`, file, 'commonjs');
      get = m.__belljar;
      exported = m.exports;
      return;
    } catch (e) {
      if (!(e instanceof SyntaxError) || !MODULE.test(e.message)) throw e;
    }
    // An ES module. Its name must say so.
    $fs.writeFileSync(`${file}.mjs`, `${setup}${source}\n;export const __belljar = (n) => eval(n);`);
    const all = await loadModule(`file://${file}.mjs`);
    $fs.unlinkSync(`${file}.mjs`);
    get = all.__belljar;
    exported = { ...all };
    delete exported.__belljar;
  }

  async function load(r) {
    file = r.path;
    const source = $fs.readFileSync(file, 'utf8');
    lines = source.split('\n');
    process.argv[1] = file;
    const setup = r.setup ? $fs.readFileSync(r.setup, 'utf8') + '\n' : '';
    shift = setup.split('\n').length - 1;
    solution(setup + source);
    try {
      await evaluate(setup, source);
    } catch (e) {
      return { where: 'path', e: describe(e), out: taken() };
    }
    return { out: taken() };
  }

  // A module that is nothing but one function or class, without a name or with the one that is asked for.
  const itself = (f, name) => typeof f === 'function' && (f.name === '' || f.name === 'default' || f.name === name) ? f : undefined;

  function top(name) {
    let x;
    try { x = get(name); } catch (e) { /* not declared */ }
    if (x === undefined && exported) {
      x = exported[name];
      if (x === undefined && exported.default) x = exported.default[name];
      if (x === undefined) x = itself(exported, name) || itself(exported.default, name);
    }
    return x;
  }

  function find(target) {
    let x = null, self;
    for (const [i, part] of target.split('.').entries()) {
      const call = part.endsWith('()'), name = call ? part.slice(0, -2) : part;
      self = x;
      x = i === 0 ? top(name) : x[name];
      if (x === undefined || x === null) return null;
      if (call) x = /^class\b/.test(Function.prototype.toString.call(x)) || i === 0 ? new x() : x.call(self);
    }
    return { f: x, self };
  }

  // What a call has come to: the value of a promise, the items of an asynchronous generator.
  async function settle(x) {
    if (typeof x.then === 'function') return await x;
    const items = [];
    for await (const item of x) {
      items.push(item);
      if (items.length > ITEMS) throw new Unencodable(`an iterator with more than ${ITEMS} items`);
    }
    return items[Symbol.iterator]();
  }

  const isPending = (x) => x !== null && typeof x === 'object' && (typeof x.then === 'function' || typeof x[Symbol.asyncIterator] === 'function');

  const isA = (e, c) => { try { return e instanceof c; } catch (_) { return false; } };
  const typeName = (x) => { try { return x === null || typeof x !== 'object' ? typeof x : className(getPrototypeOf(x)); } catch (e) { return 'object'; } };

  // When node has nothing left to do, no promise that waits will ever be kept. Who listens to the same event may still do something: a second time decides.
  let stuck = null, turns = 0;
  process.on('beforeExit', () => {
    if (!stuck) return;
    if (turns++) stuck();
    else later(() => {});
  });
  function orNever(work, reply) {
    turns = 0;
    return new Wait((done, fail) => {
      stuck = () => done(reply);
      apply(then, work, [done, fail]);
    });
  }

  async function call(r) {
    const args = r.args || [], reply = {};
    if (r.kwargs && Object.keys(r.kwargs).length)
      return { e: { type: 'TypeError', bases: ['TypeError', 'Error'], chain: [[false, 'TypeError'], [false, 'Error']], message: 'JavaScript has no keyword arguments' } };
    let t;
    try {
      t = 'ref' in r ? { f: kept.get(r.ref) } : find(r.target);
    } catch (e) {
      return { e: describe(e) };
    }
    if (!t || typeof t.f !== 'function') return { missing: r.target, names: [] };
    const stay = r.materialise ? null : keep, before = encode(args, stay);
    const begin = hrtime.bigint();
    let value;
    try {
      value = apply(t.f, t.self, args);
      if (isPending(value)) {
        reply.later = true;
        value = await settle(value);
      }
      reply.ns = Number(hrtime.bigint() - begin);
      reply.v = encode(value, stay);
    } catch (e) {
      // What is thrown while a value is read (a generator, a getter) is what the solution throws.
      if (isA(e, TooLarge)) return { large: true };
      if (isA(e, Unencodable)) {
        reply.u = e.message;
        reply.type = typeName(value);
      } else {
        reply.e = describe(e);
      }
    }
    try {
      const after = encode(args, stay);
      if (compare(after, before) !== 0) reply.changed = after;
    } catch (e) {
      reply.changed = null;
      reply.lost = isA(e, Unencodable) ? e.message : `reading them throws ${describe(e).type}`;
    }
    return reply;
  }

  for (;;) {
    const frame = readFrame(0);
    if (!frame) exit(0);
    const op = String.fromCharCode(frame[0]), nonce = frame.subarray(1, 17);
    const r = decode(frame.subarray(17), (n) => kept.get(n));
    let reply;
    if (op === 'L') reply = await orNever(load(r), { where: 'path', e: { type: 'Error', bases: ['Error'], chain: [[false, 'Error']], message: 'the solution never loads: its await is never over' } });
    else if (op === 'C') reply = await orNever(call(r), { u: 'a promise that never settles', type: 'Promise' });
    else if (op === 'G') {
      const t = find(r.name);
      reply = t ? { v: encode(t.f, keep) } : { missing: r.name };
    } else reply = { e: { type: 'TypeError', bases: ['TypeError'], chain: [[false, 'TypeError']], message: 'not for JavaScript' } };
    stuck = null;
    reply.out = reply.out || taken();
    let answer;
    try {
      answer = encodeFrame(reply);
    } catch (e) {
      answer = encodeFrame({ large: true, out: reply.out });
    }
    writeFrame(1, nonce, answer.length <= ANSWER_MAX ? answer : encodeFrame({ large: true, out: reply.out }));
  }
})();
