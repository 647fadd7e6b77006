// SPDX-License-Identifier: Apache-2.0
// Values as bytes, as in src/guest/python/data.py and js.py: what may pass between a candidate and its verifier. docs/grading.md has the table.
'use strict';
const $fs = require('fs');

const $data = (() => {
  const DEPTH = 180, ITEMS = 100000, LENGTH = 50000000, ANSWER_MAX = (64 << 20) - 1024; // bytes: the front takes no longer frame
  const types = { ...require('util').types };
  const { isArray } = Array;
  const { getPrototypeOf, keys, hasOwn, defineProperty, getOwnPropertyDescriptor, getOwnPropertyNames } = Object;
  const mapEntries = Map.prototype.entries, setValues = Set.prototype.values, getTime = Date.prototype.getTime;
  const alloc = Buffer.allocUnsafe, from = Buffer.from, concat = Buffer.concat;
  const isSafe = Number.isSafeInteger, is = Object.is, iteratorOf = Symbol.iterator, tagOf = Symbol.toStringTag;
  const BI = BigInt, apply = Reflect.apply;
  const arrays = { Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array };
  const arrayKind = getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get;
  const protos = { Object: Object.prototype, Array: Array.prototype, Map: Map.prototype, Set: Set.prototype, Date: Date.prototype, Buffer: Buffer.prototype };
  for (const name of keys(arrays)) protos[name] = arrays[name].prototype;
  const boxes = [[types.isNumberObject, Number], [types.isStringObject, String], [types.isBooleanObject, Boolean], [types.isBigIntObject, BigInt]]
    .map(([isIt, f]) => [isIt, f.prototype.valueOf]);

  // What a program finds without defining it: classes by their prototypes, and objects such as Math. Only what is there already: reading the others would load them.
  const builtin = new Map();
  for (const name of getOwnPropertyNames(globalThis)) {
    const { value } = getOwnPropertyDescriptor(globalThis, name);
    if (typeof value === 'function' && value.prototype) builtin.set(value.prototype, name);
    else if (typeof value === 'object' && value !== null) builtin.set(value, name);
  }
  const builtinGet = builtin.get;
  const nameOfBuiltin = (x) => apply(builtinGet, builtin, [x]);

  // All others of node's are known by their sources, which node has in itself: classes that are loaded when they are first used, and those that no module exports. They are looked
  // at only for a class that does not stand in the solution's text.
  const functionText = Function.prototype.toString, binding = process.binding;
  const judged = new WeakMap(), { get: judgedGet, set: judgedSet } = WeakMap.prototype;
  let solution = '', sources = null;

  function isNative(f) {
    const t = apply(functionText, f, []);
    if (t.endsWith('{ [native code] }')) return true;
    if (solution.includes(t)) return false;
    if (sources === null) {
      const all = binding ? apply(binding, process, ['natives']) : {};
      sources = keys(all).map((name) => all[name]).filter((text) => typeof text === 'string');
    }
    return sources.some((text) => text.includes(t));
  }

  function looksNative(proto) {
    const own = getOwnPropertyDescriptor(proto, 'constructor');
    if (own) {
      const f = 'value' in own ? own.value : own.get;
      return typeof f === 'function' && isNative(f);
    }
    const all = getOwnPropertyNames(proto).map((name) => getOwnPropertyDescriptor(proto, name)).map((d) => ('value' in d ? d.value : d.get)).filter((f) => typeof f === 'function');
    return all.length > 0 && all.every(isNative);
  }

  // Whether a prototype is of no class of the solution's: what its objects hold is not in their fields.
  function isForeign(proto) {
    if (nameOfBuiltin(proto) || types.isProxy(proto)) return true;
    let is = apply(judgedGet, judged, [proto]);
    if (is === undefined) apply(judgedSet, judged, [proto, is = looksNative(proto)]);
    return is;
  }

  class Unencodable extends Error {}
  class TooLarge extends Unencodable {}
  const tooLarge = () => new TooLarge(`more than ${ANSWER_MAX} bytes`);

  function big(x) {
    return `B${x < 0n ? '-' : ''}${(x < 0n ? -x : x).toString(16)};`;
  }

  function float(x) {
    const b = alloc(8);
    b.writeDoubleBE(x);
    return b.toString('hex');
  }

  // A string may hold halves of surrogate pairs: each alone is three bytes, as Python's surrogatepass has it.
  function text(s) {
    if (s.isWellFormed()) return from(s, 'utf8');
    const parts = [];
    for (const c of s) {
      const p = c.codePointAt(0);
      parts.push(p >= 0xd800 && p <= 0xdfff ? from([0xe0 | p >> 12, 0x80 | p >> 6 & 63, 0x80 | p & 63]) : from(c, 'utf8'));
    }
    return concat(parts);
  }

  // The bytes of a value are built as a string of characters below 256.
  const raw = (b) => `${b.length}:${b.latin1Slice(0, b.length)}`;
  const string = (s) => {
    if (s.length > ANSWER_MAX) throw tooLarge();
    return raw(text(s));
  };

  // The name of the class that this is the prototype of. An object's own field may be called constructor too.
  function className(proto) {
    try {
      const c = proto.constructor, n = c && c.name;
      return typeof n === 'string' && n ? n.slice(0, 200) : 'Object';
    } catch (e) {
      return 'Object';
    }
  }

  // What stands before a value of this kind whose class is another one.
  function own(x, kind) {
    const proto = getPrototypeOf(x);
    if (proto === protos[kind] || proto === null || nameOfBuiltin(proto)) return '';
    const name = className(proto);
    return name === kind ? '' : `C${string(name)}`;
  }

  function number(x) {
    return isSafe(x) && !is(x, -0) ? `i${x};` : `d${float(x)};`;
  }

  function list(tag, items, o, depth) {
    o.text += `${tag}${items.length}:`;
    for (let i = 0; i < items.length; i++) one(items[i], o, depth + 1);
  }

  function one(x, o, depth) {
    if (depth > DEPTH) throw new Unencodable(`nested more than ${DEPTH} deep`);
    if (o.text.length > ANSWER_MAX) throw tooLarge();
    switch (typeof x) {
      case 'undefined': o.text += 'U'; return;
      case 'boolean': o.text += x ? 'T' : 'F'; return;
      case 'number': o.text += number(x); return;
      case 'bigint': o.text += big(x); return;
      case 'string': o.text += `s${string(x)}`; return;
      case 'object': break;
      default:
        if (o.keep) { o.text += o.keep(x); return; }
        throw new Unencodable(`a ${typeof x} is no plain data`);
    }
    if (x === null) o.text += 'N';
    else if (isArray(x)) array(x, o, depth);
    else if (types.isTypedArray(x)) typed(x, o, depth);
    else if (types.isArrayBuffer(x)) o.text += `A${string('ArrayBuffer')}b${bytes(x)}`;
    else if (types.isMap(x)) {
      const items = [...apply(mapEntries, x, [])];
      o.text += `${own(x, 'Map')}M${items.length}:`;
      for (const [k, v] of items) { one(k, o, depth + 1); one(v, o, depth + 1); }
    } else if (types.isSet(x)) {
      o.text += own(x, 'Set');
      list('e', [...apply(setValues, x, [])], o, depth);
    } else if (types.isDate(x)) o.text += `${own(x, 'Date')}w${float(apply(getTime, x, []))};`;
    else if (types.isBoxedPrimitive(x)) boxed(x, o, depth);
    else object(x, o, depth);
  }

  function array(x, o, depth) {
    const n = x.length;
    if (n > LENGTH) throw new Unencodable(`an array with more than ${LENGTH} elements`);
    o.text += `${own(x, 'Array')}l${n}:`;
    for (let i = 0; i < n; i++) {
      const item = x[i];
      if (item === undefined && !hasOwn(x, i)) o.text += 'H';
      else one(item, o, depth + 1);
    }
  }

  // Of a buffer that was transferred nothing is left to be read.
  function bytes(...part) {
    try {
      return raw(from(...part));
    } catch (e) {
      throw new Unencodable('a detached ArrayBuffer is no plain data');
    }
  }

  function typed(x, o, depth) {
    const kind = apply(arrayKind, x, []);
    if (x.length > LENGTH) throw new Unencodable(`an array with more than ${LENGTH} elements`);
    if (kind === 'Uint8Array') {
      // In a frame of ours every buffer is bytes.
      if (!o.frame) o.text += getPrototypeOf(x) === protos.Buffer ? `A${string('Buffer')}` : own(x, kind);
      o.text += `b${bytes(x.buffer, x.byteOffset, x.length)}`;
      return;
    }
    o.text += `${own(x, kind)}A${string(kind)}l${x.length}:`;
    for (let i = 0; i < x.length; i++) one(x[i], o, depth + 1);
  }

  function boxed(x, o, depth) {
    for (const [isIt, valueOf] of boxes)
      if (isIt(x)) {
        o.text += 'O';
        one(apply(valueOf, x, []), o, depth + 1);
        return;
      }
    throw new Unencodable('a symbol is no plain data');
  }

  function isPlain(proto) {
    return proto === protos.Object || proto === null || (getPrototypeOf(proto) === null && hasOwn(proto, 'constructor') && className(proto) === 'Object');
  }

  function object(x, o, depth) {
    const proto = getPrototypeOf(x);
    if (typeof x.next === 'function' && typeof x[iteratorOf] === 'function') {
      const items = [];
      for (let i = 0; i <= ITEMS; i++) {
        const r = x.next();
        if (r.done) break;
        items[i] = r.value;
      }
      if (items.length > ITEMS) throw new Unencodable(`an iterator with more than ${ITEMS} items`);
      list('g', items, o, depth);
      return;
    }
    if (!isPlain(proto)) {
      if (o.keep) { o.text += o.keep(x); return; }
      // A class of the solution's is its fields.
      let foreign = types.isNativeError(x) || types.isPromise(x) || types.isModuleNamespaceObject(x);
      for (let p = proto; !foreign && !isPlain(p); p = getPrototypeOf(p)) foreign = isForeign(p);
      if (foreign) throw new Unencodable(`an object of class ${className(proto)} is no plain data`);
      o.text += `C${string(className(proto))}`;
    } else if (nameOfBuiltin(x) || (proto !== protos.Object && proto !== null && hasOwn(x, tagOf))) {
      // Math, or that of another context
      if (o.keep) { o.text += o.keep(x); return; }
      throw new Unencodable(`${nameOfBuiltin(x) || 'an object of another context'} is no plain data`);
    }
    const names = keys(x);
    o.text += `m${names.length}:`;
    for (const k of names) { o.text += `s${string(k)}`; one(x[k], o, depth + 1); }
  }

  // keep(x) gives the text of what is no data, where that may stay behind.
  function encode(x, keep) {
    const o = { text: '', keep, frame: false };
    one(x, o, 0);
    return from(o.text, 'latin1');
  }

  // A frame of the driver's or the verifier's own.
  function encodeFrame(x) {
    const o = { text: '', keep: null, frame: true };
    one(x, o, 0);
    return from(o.text, 'latin1');
  }

  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  // The other way of text(). Bytes that are neither UTF-8 nor half of a pair are an error.
  function textOf(b, bad) {
    try {
      return utf8.decode(b);
    } catch (e) { /* or with halves of pairs */ }
    let out = '', at = 0;
    try {
      for (let i = b.indexOf(0xed); i >= 0; i = b.indexOf(0xed, i + 1)) {
        if (i + 2 >= b.length || b[i + 1] < 0xa0 || b[i + 1] > 0xbf || b[i + 2] < 0x80 || b[i + 2] > 0xbf) continue;
        out += utf8.decode(b.subarray(at, i)) + String.fromCharCode(0xd000 | (b[i + 1] & 63) << 6 | b[i + 2] & 63);
        at = i + 3;
      }
      return out + utf8.decode(b.subarray(at));
    } catch (e) {
      return bad('not UTF-8');
    }
  }

  // Returns the value; strict. handle(n, name, flags) gives what stayed behind; limit is how many values there may be.
  function decode(b, handle, limit = Infinity) {
    let at = 0, left = limit;
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
    const string = () => textOf(raw(), bad);
    function items(depth) {
      const n = count(), out = [];
      for (let i = 0; i < n; i++)
        if (b[at] === 72) { at++; out.length++; } else out.push(value(depth + 1));
      return out;
    }
    function pairs(depth) {
      const n = count(), out = [];
      for (let i = 0; i < n; i++) out.push([value(depth + 1), value(depth + 1)]);
      return out;
    }
    function hex(n) {
      const t = b.toString('latin1', at, at + n);
      if (t.length !== n || !/^[0-9a-f]*$/.test(t)) bad('not a float');
      at += n;
      return from(t, 'hex').readDoubleBE(0);
    }
    function end() { if (b[at++] !== 59) bad('no end of a number'); }
    function bigint() {
      const stop = b.indexOf(';', at), t = b.toString('latin1', at, stop < 0 ? at : stop);
      if (!/^-?[0-9a-f]+$/.test(t)) bad('not a number');
      at = stop + 1;
      return t[0] === '-' ? -BI('0x' + t.slice(1)) : BI('0x' + t);
    }
    function typed(depth) {
      const kind = string(), x = value(depth + 1);
      try {
        if (kind === 'Buffer' && x instanceof Uint8Array) return from(x);
        if (kind === 'ArrayBuffer' && x instanceof Uint8Array) return x.buffer.slice(x.byteOffset, x.byteOffset + x.length);
        if (hasOwn(arrays, kind) && isArray(x)) return new arrays[kind](x);
      } catch (e) { /* the elements are others */ }
      return bad('not a typed array');
    }
    function boxed(depth) {
      const x = value(depth + 1);
      if (x === null || x === undefined || typeof x === 'object') bad('not a boxed value');
      return Object(x);
    }
    function value(depth) {
      if (depth > 2 * DEPTH) bad('nested too deep');
      if (--left < 0) bad('too many values');
      const tag = String.fromCharCode(b[at++]);
      switch (tag) {
        case 'N': return null;
        case 'U': return undefined;
        case 'T': return true;
        case 'F': return false;
        case 'i': return number(';');
        case 'x': case 'B': return bigint();
        case 'd': { const x = hex(16); end(); return x; }
        case 's': return string();
        case 'b': case 'y': return new Uint8Array(raw());
        case 'l': case 't': case 'q': case 'k': case 'v': return items(depth);
        case 'A': return typed(depth);
        case 'g': return items(depth)[iteratorOf]();
        case 'e': case 'z': return new Set(items(depth));
        case 'M': return new Map(pairs(depth));
        case 'm': {
          const all = pairs(depth), o = {};
          if (all.some(([k]) => typeof k !== 'string')) return new Map(all);
          for (const [k, v] of all) defineProperty(o, k, { value: v, writable: true, enumerable: true, configurable: true });
          return o;
        }
        case 'w': { const x = hex(16); end(); return new Date(x); }
        case 'O': return boxed(depth);
        case 'C': case 'S': raw(); return value(depth + 1);
        case 'h': if (handle) { const n = number(','), f = number(';'); return handle(n, string(), f); } // falls through
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

  return { encode, encodeFrame, decode, Unencodable, TooLarge, ITEMS, ANSWER_MAX, solution: (text) => { solution = text; }, string, builtin: nameOfBuiltin, className, readFrame, writeFrame };
})();
