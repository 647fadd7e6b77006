// ---- the candidate's side: see src/guest/python/driver.py -----------------------------------------------------------------------------------
(async () => {
  const Module = require('module'), path = require('path');
  const { encode, decode, Unencodable, readFrame, writeFrame } = $data;
  const { hrtime, exit } = process;
  const from = Buffer.from, concat = Buffer.concat;
  const defineStream = process.stdout;
  let printed = [], size = 0, get = null, file = '', lines = [];
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

  function keep(x, out) {
    kept.set(kept.size + 1, x);
    const name = from(typeof x === 'function' ? 'function' : (x.constructor && x.constructor.name) || 'object');
    out.push(from(`h${kept.size},${typeof x === 'function' ? 1 : 0};${name.length}:`), name);
  }

  function describe(e) {
    const info = { type: 'Error', bases: [], own: false, message: '' };
    try {
      if (!(e instanceof Error)) return { type: typeof e, bases: [typeof e], own: true, message: String(e).slice(0, 1000) };
      for (let p = Object.getPrototypeOf(e); p && p !== Object.prototype; p = Object.getPrototypeOf(p))
        if (p.constructor && p.constructor.name) info.bases.push(String(p.constructor.name).slice(0, 100));
      info.type = info.bases[0] || 'Error';
      info.own = globalThis[info.type] !== e.constructor;
      info.message = String(e.message).slice(0, 2000);
      const stack = String(e.stack || '').split('\n');
      const mine = stack.find((l) => l.includes(file)), m = mine && /:(\d+):(\d+)\)?$/.exec(mine);
      if (m) {
        info.line = Number(m[1]);
        info.text = (lines[info.line - 1] || '').trim().slice(0, 300);
      }
      info.traceback = stack.filter((l) => !l.includes('/etc/belljar/') && !l.includes('node:internal')).slice(0, 8).join('\n').slice(0, 3000);
    } catch (_) { /* it lies even about that */ }
    return info;
  }

  function load(r) {
    file = r.path;
    const source = $fs.readFileSync(file, 'utf8');
    lines = source.split('\n');
    const m = new Module(file, null);
    m.filename = file;
    m.paths = Module._nodeModulePaths(path.dirname(file));
    process.argv[1] = file;
    const setup = r.setup ? $fs.readFileSync(r.setup, 'utf8') + '\n' : '';
    try {
      // Declared names are the module's own: only what is inside of it can look them up.
      m._compile(`${setup}${source}\n;module.__belljar = (n) => eval(n);`, file);
      get = m.__belljar;
      kept.set(0, m.exports);
    } catch (e) {
      return { where: 'path', e: describe(e), out: taken() };
    }
    return { out: taken() };
  }

  function find(target) {
    let x = null, self;
    for (const [i, part] of target.split('.').entries()) {
      const call = part.endsWith('()'), name = call ? part.slice(0, -2) : part;
      self = x;
      if (i === 0) {
        try { x = get(name); } catch (e) { x = undefined; }
        if (x === undefined && kept.get(0)) x = kept.get(0)[name];
      } else {
        x = x[name];
      }
      if (x === undefined) return null;
      if (call) x = /^class\b/.test(Function.prototype.toString.call(x)) || i === 0 ? new x() : x.call(self);
    }
    return { f: x, self };
  }

  async function call(r) {
    const args = r.args || [], reply = {};
    if (r.kwargs && Object.keys(r.kwargs).length) return { e: { type: 'TypeError', bases: ['TypeError'], own: false, message: 'JavaScript has no keyword arguments' } };
    let t;
    try {
      t = 'ref' in r ? { f: kept.get(r.ref) } : find(r.target);
    } catch (e) {
      return { e: describe(e) };
    }
    if (!t || typeof t.f !== 'function') return { missing: r.target, names: [] };
    const before = encode(args, null);
    const begin = hrtime.bigint();
    let value, has = false;
    try {
      value = t.f.apply(t.self, args);
      if (value && typeof value.then === 'function') value = await value;
      has = true;
      reply.ns = Number(hrtime.bigint() - begin);
      reply.v = encode(value, r.materialise ? null : keep);
    } catch (e) {
      if (has) {
        reply.u = String(e && e.message).slice(0, 300);
        reply.type = value && value.constructor ? String(value.constructor.name) : typeof value;
      } else {
        reply.e = describe(e);
      }
    }
    try {
      const after = encode(args, null);
      // As the other drivers: the pair of positional and keyword arguments.
      if (Buffer.compare(after, before) !== 0) reply.changed = concat([from('t2:'), after, from('m0:')]);
    } catch (e) { /* not data any more */ }
    return reply;
  }

  for (;;) {
    const frame = readFrame(0);
    if (!frame) exit(0);
    const op = String.fromCharCode(frame[0]), nonce = frame.subarray(1, 17);
    const r = decode(frame.subarray(17), (n) => kept.get(n));
    let reply;
    if (op === 'L') reply = load(r);
    else if (op === 'C') reply = await call(r);
    else if (op === 'G') {
      const t = find(r.name);
      reply = t ? { v: encode(t.f, keep) } : { missing: r.name };
    } else reply = { e: { type: 'TypeError', bases: ['TypeError'], own: false, message: 'not for JavaScript' } };
    reply.out = reply.out || taken();
    writeFrame(1, nonce, encode(reply, null));
  }
})();
