// SPDX-License-Identifier: Apache-2.0
// Values as bytes, as in src/guest/python/data.py: what may pass between a candidate and its verifier.
'use strict';
const $fs = require('fs');

const $data = (() => {
  const DEPTH = 180, ITEMS = 100000;
  const { isArray } = Array;
  const { getPrototypeOf, keys } = Object;
  const objectProto = Object.prototype, mapEntries = Map.prototype.entries, setValues = Set.prototype.values;
  const alloc = Buffer.allocUnsafe, from = Buffer.from, concat = Buffer.concat, byteLength = Buffer.byteLength;
  const isSafe = Number.isSafeInteger, isInteger = Number.isInteger, is = Object.is;
  const BI = BigInt;

  class Unencodable extends Error {}

  function big(x, out) {
    const neg = x < 0n, text = (neg ? -x : x).toString(16);
    out.push(from(`x${neg ? '-' : ''}${text};`));
  }

  function float(x) {
    const b = alloc(8);
    b.writeDoubleBE(x);
    return b.toString('hex');
  }

  // A string may hold halves of surrogate pairs: each alone is three bytes, as Python's surrogatepass has it.
  function text(s) {
    if (s.isWellFormed ? s.isWellFormed() : !/[\ud800-\udfff]/.test(s.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ''))) return from(s, 'utf8');
    const parts = [];
    for (const c of s) {
      const p = c.codePointAt(0);
      parts.push(p >= 0xd800 && p <= 0xdfff ? from([0xe0 | p >> 12, 0x80 | p >> 6 & 63, 0x80 | p & 63]) : from(c, 'utf8'));
    }
    return concat(parts);
  }

  function one(x, out, depth, keep) {
    if (depth > DEPTH) throw new Unencodable(`nested more than ${DEPTH} deep`);
    switch (typeof x) {
      case 'undefined': out.push(from('N')); return;
      case 'boolean': out.push(from(x ? 'T' : 'F')); return;
      case 'number':
        if (isSafe(x) && !is(x, -0)) out.push(from(`i${x};`));
        else out.push(from(`d${float(x)};`));
        return;
      case 'bigint':
        if (x > -(1n << 63n) && x < 1n << 63n) out.push(from(`i${x};`));
        else big(x, out);
        return;
      case 'string': {
        const b = text(x);
        out.push(from(`s${b.length}:`), b);
        return;
      }
      case 'object': break;
      default:
        if (keep) { keep(x, out); return; }
        throw new Unencodable(`a ${typeof x} is no plain data`);
    }
    if (x === null) { out.push(from('N')); return; }
    if (isArray(x)) {
      const n = x.length;
      if (n > 50000000) throw new Unencodable('an array with more than 50 million elements');
      out.push(from(`l${n}:`));
      for (let i = 0; i < n; i++) one(x[i], out, depth + 1, keep);
      return;
    }
    if (x instanceof Uint8Array) { out.push(from(`b${x.length}:`), from(x)); return; }
    if (x instanceof Map) {
      const items = [...mapEntries.call(x)];
      out.push(from(`m${items.length}:`));
      for (const [k, v] of items) { one(k, out, depth + 1, keep); one(v, out, depth + 1, keep); }
      return;
    }
    if (x instanceof Set) {
      const items = [...setValues.call(x)];
      out.push(from(`e${items.length}:`));
      for (const v of items) one(v, out, depth + 1, keep);
      return;
    }
    if (x instanceof Number || x instanceof String || x instanceof Boolean) { one(x.valueOf(), out, depth + 1, null); return; }
    const proto = getPrototypeOf(x);
    if (proto === objectProto || proto === null || (getPrototypeOf(proto) === null && proto.constructor && proto.constructor.name === 'Object')) {
      const names = keys(x);
      out.push(from(`m${names.length}:`));
      for (const k of names) { one(k, out, depth + 1, keep); one(x[k], out, depth + 1, keep); }
      return;
    }
    if (typeof x.next === 'function') {
      const items = [];
      for (let i = 0; i <= ITEMS; i++) {
        const r = x.next();
        if (r.done) break;
        items.push(r.value);
      }
      if (items.length > ITEMS) throw new Unencodable(`an iterator with more than ${ITEMS} items`);
      out.push(from(`g${items.length}:`));
      for (const v of items) one(v, out, depth + 1, keep);
      return;
    }
    if (keep) { keep(x, out); return; }
    throw new Unencodable(`an object of class ${proto.constructor && proto.constructor.name} is no plain data`);
  }

  function encode(x, keep) {
    const out = [];
    one(x, out, 0, keep);
    return concat(out);
  }

  // Returns the value; strict.
  function decode(b, handle) {
    let at = 0;
    const bad = (why) => { throw new Error(`malformed: ${why}`); };
    function number(end) {
      const stop = b.indexOf(end, at);
      if (stop < 0 || stop - at > 24) bad('a number has no end');
      const t = b.toString('latin1', at, stop);
      if (!/^-?[0-9]+$/.test(t)) bad('not a number');
      at = stop + 1;
      const n = Number(t);
      return isSafe(n) ? n : BI(t);
    }
    function count() {
      const n = number(':');
      if (typeof n !== 'number' || n < 0 || n > b.length - at) bad('a length past the end');
      return n;
    }
    function raw() {
      const n = count(), out = b.subarray(at, at + n);
      at += n;
      return out;
    }
    function items(depth) {
      const n = count(), out = [];
      for (let i = 0; i < n; i++) out.push(value(depth + 1));
      return out;
    }
    function hex(n) {
      const t = b.toString('latin1', at, at + n);
      if (t.length !== n || !/^[0-9a-f]*$/.test(t)) bad('not a float');
      at += n;
      return from(t, 'hex').readDoubleBE(0);
    }
    function end() { if (b[at++] !== 59) bad('no end of a number'); }
    function value(depth) {
      if (depth > 2 * DEPTH) bad('nested too deep');
      const tag = String.fromCharCode(b[at++]);
      switch (tag) {
        case 'N': return null;
        case 'T': return true;
        case 'F': return false;
        case 'i': return number(';');
        case 'x': {
          const stop = b.indexOf(';', at), t = b.toString('latin1', at, stop);
          if (stop < 0 || !/^-?[0-9a-f]+$/.test(t)) bad('not a number');
          at = stop + 1;
          return t[0] === '-' ? -BI('0x' + t.slice(1)) : BI('0x' + t);
        }
        case 'd': { const x = hex(16); end(); return x; }
        case 's': return raw().toString('utf8');
        case 'b': case 'y': return new Uint8Array(raw());
        case 'l': case 't': case 'q': case 'k': case 'v': case 'w': return items(depth);
        case 'g': return items(depth)[Symbol.iterator]();
        case 'e': case 'z': return new Set(items(depth));
        case 'm': {
          const n = count(), pairs = [];
          for (let i = 0; i < n; i++) pairs.push([value(depth + 1), value(depth + 1)]);
          if (pairs.some(([k]) => typeof k !== 'string')) return new Map(pairs);
          const o = {};
          for (const [k, v] of pairs) Object.defineProperty(o, k, { value: v, writable: true, enumerable: true, configurable: true });
          return o;
        }
        case 'S': raw(); return value(depth + 1);
        case 'h': if (handle) { const n = number(','), f = number(';'); return handle(n, raw().toString('utf8'), f); } // falls through
        default: return bad('unknown kind of value');
      }
    }
    const x = value(0);
    if (at !== b.length) bad('something after the value');
    return x;
  }

  function readExact(fd, n) {
    const b = alloc(n);
    for (let at = 0; at < n;) {
      let got;
      try {
        got = readSync(fd, b, at, n - at, null);
      } catch (e) {
        if (e.code === 'EAGAIN') { wait(); continue; }
        if (e.code === 'EOF') return null;
        throw e;
      }
      if (!got) return null;
      at += got;
    }
    return b;
  }

  const readSync = $fs.readSync, writeSync = $fs.writeSync;
  const sleeper = new Int32Array(new SharedArrayBuffer(4)), atomicsWait = Atomics.wait;
  const wait = () => atomicsWait(sleeper, 0, 0, 1);

  function readFrame(fd) {
    const head = readExact(fd, 4);
    if (!head) return null;
    return readExact(fd, head.readUInt32LE(0));
  }

  function writeFrame(fd, ...parts) {
    const body = concat(parts), head = alloc(4);
    head.writeUInt32LE(body.length);
    const all = concat([head, body]);
    for (let at = 0; at < all.length;) {
      try {
        at += writeSync(fd, all, at, all.length - at);
      } catch (e) {
        if (e.code !== 'EAGAIN') throw e;
        wait();
      }
    }
  }

  return { encode, decode, Unencodable, readFrame, writeFrame, readExact };
})();
