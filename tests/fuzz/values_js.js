// SPDX-License-Identifier: Apache-2.0
// Pairs of values, equal and nearly equal: the bytes of both as a candidate's driver writes them, and whether node itself calls them equal. For values_js.py.
// Usage: node values_js.js DATA.JS SEED COUNT
'use strict';
const { isDeepStrictEqual } = require('util');
const [file, seed, count] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const data = new Function('require', `${require('fs').readFileSync(file, 'utf8')}\nreturn $data;`)(require);

let state = seed >>> 0;
function random() { // mulberry32
  state = state + 0x6d2b79f5 | 0;
  let t = Math.imul(state ^ state >>> 15, 1 | state);
  t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
  return ((t ^ t >>> 14) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const times = (n, f) => Array.from({ length: n }, f);

class Point {}
class Place {}
class Stack extends Array {}
class Bag extends Set {}
class Items {}
const OWN = { Point, Place };

const NUMBERS = [0, -0, 1, -1, 2, 3, 0.1, 0.2, 0.1 + 0.2, 0.3, 1e21, 1e-7, NaN, Infinity, -Infinity, 2 ** 53, 2 ** 53 - 1, -(2 ** 53), 2 ** 31, 5e-324, 1.7976931348623157e308, 255, 256];
const BIGS = [0n, 1n, -1n, 2n, 255n, 2n ** 53n, 2n ** 63n, -(2n ** 64n), 10n ** 30n];
const TEXTS = ['', 'a', 'b', 'ab', '0', '1', 'null', 'undefined', 'NaN', '__proto__', 'constructor', 'length', 'é', 'e\u0301', '\u0000', 'a\u0000', '\ud800', '\udc00', '\ud83d\ude00', '\ufffd', '\ufeff', 'then',
  'toJSON'];
const KINDS = ['Int8Array', 'Uint8Array', 'Uint8ClampedArray', 'Int16Array', 'Float32Array', 'Float64Array', 'BigInt64Array', 'Buffer', 'ArrayBuffer'];
const TIMES = [0, -0, 1, -1, 1700000000000, 8.64e15, NaN];

// A value as a tree [kind, what]: two values are made of one tree, and a tree can be changed in one place.
function leaf() {
  return pick([() => ['num', pick(NUMBERS)], () => ['num', below(5)], () => ['big', pick(BIGS)], () => ['str', pick(TEXTS)], () => ['bool', random() < 0.5], () => ['null'], () => ['undef'],
    () => ['date', pick(TIMES)], () => ['box', pick([pick(NUMBERS), pick(TEXTS), true, false, pick(BIGS)])], () => ['typed', pick(KINDS), times(below(4), () => below(4))]])();
}
function tree(depth) {
  if (depth <= 0 || random() < 0.3) return leaf();
  const items = () => times(below(4), () => tree(depth - 1)), pairs = (key) => times(below(4), () => [key(), tree(depth - 1)]);
  return pick([() => ['arr', items().map((t) => (random() < 0.05 ? ['hole'] : t))], () => ['set', items()], () => ['map', pairs(() => tree(random() < 0.7 ? 0 : depth - 1))],
    () => ['obj', pairs(() => pick(TEXTS))], () => ['inst', pick(['Point', 'Place']), pairs(() => pick(TEXTS))], () => ['iter', items()], () => ['stack', items()], () => ['bag', items()]])();
}

// The nodes of a tree, each with where it stands.
function places(t, found = []) {
  for (let i = 1; i < t.length; i++)
    if (Array.isArray(t[i])) for (const [k, x] of t[i].entries()) {
      if (!Array.isArray(x)) continue;
      if (Array.isArray(x[0]) || t[0] === 'obj' || t[0] === 'inst') {
        if (Array.isArray(x[0])) { found.push([x, 0]); places(x[0], found); }
        found.push([x, 1]);
        places(x[1], found);
      } else { found.push([t[i], k]); places(x, found); }
    }
  return found;
}
const copy = (t) => (Array.isArray(t) ? t.map(copy) : t);
const shuffle = (list) => { for (let i = list.length - 1; i > 0; i--) { const j = below(i + 1); [list[i], list[j]] = [list[j], list[i]]; } };

// Another value that is easily taken for this one.
function near(t) {
  const [kind, x, y] = t, lists = ['arr', 'set', 'iter', 'stack', 'bag'];
  switch (kind) {
    case 'num': return pick([['num', -x], ['num', x + 1], ['num', x + 1e-9], ['str', String(x)], ['box', x], ['bool', Boolean(x)], Number.isInteger(x) ? ['big', BigInt(x)] : ['null'], ['date', x]]);
    case 'big': return pick([['num', Number(x)], ['big', -x], ['big', x + 1n], ['str', String(x)], ['box', x]]);
    case 'str': return pick([['str', `${x} `], ['str', x.normalize('NFD')], ['box', x], ['arr', [...x].map((c) => ['str', c])], ['num', Number(x)], ['str', x.toWellFormed()], ['str', pick(TEXTS)]]);
    case 'bool': return pick([['num', Number(x)], ['bool', !x], ['str', String(x)], ['box', x]]);
    case 'null': return pick([['undef'], ['str', 'null'], ['num', 0], ['obj', []]]);
    case 'undef': return pick([['null'], ['str', 'undefined'], ['hole']]);
    case 'hole': return pick([['undef'], ['null']]);
    case 'date': return pick([['date', x + 1], ['num', x], ['null']]);
    case 'box': return pick([[{ number: 'num', string: 'str', boolean: 'bool', bigint: 'big' }[typeof x], x], ['box', String(x)]]);
    case 'typed': return pick([['typed', pick(KINDS), y], ['arr', y.map((n) => ['num', n])], ['typed', x, [...y, 0]], ['typed', x, y.map((n) => (n + 1) % 4)]]);
    case 'obj': return pick([['map', x.map(([k, v]) => [['str', k], v])], ['inst', 'Point', x], ['obj', x.slice(1)], ['obj', [...x, [pick(TEXTS), ['undef']]]]]);
    case 'inst': return pick([['inst', x === 'Point' ? 'Place' : 'Point', y], ['obj', y]]);
    case 'map': return pick([['map', x.slice(1)], ['map', x.map(([k, v]) => [v, k])], ['set', x.map(([k]) => k)], ['arr', x.map((p) => ['arr', p])]]);
    default: return pick([[pick(lists), x], [kind, x.slice(1)], [kind, [...x, ['undef']]], [kind, [...x, leaf()]]]);
  }
}
function change(t) {
  const all = places(t);
  if (!all.length || random() < 0.2) return near(t);
  const [list, at] = pick(all);
  list[at] = near(list[at]);
  return t;
}
// The same value, made in another order.
function reorder(t) {
  if (['set', 'bag', 'map', 'obj'].includes(t[0])) shuffle(t[1]);
  if (t[0] === 'inst') shuffle(t[2]);
  for (const [list, at] of places(t)) if (random() < 0.5 && ['set', 'map'].includes(list[at][0])) shuffle(list[at][1]);
  return t;
}

// As a value. For node's own comparison, iterators and invalid dates are objects: it does not look into the first and calls two of the second different.
function make(t, own) {
  const [kind, x, y] = t, all = (list) => list.map((i) => make(i, own));
  switch (kind) {
    case 'null': return null;
    case 'undef': case 'hole': return undefined;
    case 'date': return own && Number.isNaN(x) ? Object.assign(new Items(), { x }) : new Date(x);
    case 'box': return Object(x);
    case 'typed': return typed(x, y);
    case 'arr': { const a = all(x); x.forEach((i, k) => { if (i[0] === 'hole') delete a[k]; }); return a; }
    case 'set': return new Set(all(x));
    case 'bag': return new Bag(all(x));
    case 'stack': { const s = new Stack(); for (const i of all(x)) s.push(i); return s; }
    case 'map': return new Map(x.map(([k, v]) => [make(k, own), make(v, own)]));
    case 'obj': case 'inst': {
      const o = kind === 'obj' ? {} : new OWN[x]();
      for (const [k, v] of kind === 'obj' ? x : y) Object.defineProperty(o, k, { value: make(v, own), writable: true, enumerable: true, configurable: true });
      return o;
    }
    case 'iter': return own ? Object.assign(new Items(), { items: all(x) }) : all(x)[Symbol.iterator]();
    default: return x;
  }
}
function typed(kind, items) {
  if (kind === 'Buffer') return Buffer.from(items);
  if (kind === 'ArrayBuffer') return new Uint8Array(items).buffer;
  return globalThis[kind].from(kind.startsWith('Big') ? items.map(BigInt) : items);
}

// What comes back in a verifier that is node: the same value, but for classes of the candidate's, and iterators.
const strange = (t) => ['inst', 'stack', 'bag', 'iter'].includes(t[0]) || (t[0] === 'date' && Number.isNaN(t[1])) || places(t).some(([list, at]) => strange(list[at]));

for (let i = 0; i < count; i++) {
  const one = tree(below(5)), other = copy(one);
  const changed = random() < 0.6 ? change(other) : reorder(other);
  const a = data.encode(make(one, false), null), b = data.encode(make(changed, false), null);
  const back = strange(one) || isDeepStrictEqual(data.decode(a, null), make(one, true));
  process.stdout.write(`${a.toString('hex')} ${b.toString('hex')} ${isDeepStrictEqual(make(one, true), make(changed, true)) ? 1 : 0} ${back ? 1 : 0} ${strange(one) ? 1 : 0}\n`);
}
