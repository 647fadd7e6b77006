// SPDX-License-Identifier: Apache-2.0
// What node loads before a guest's program (--require): makes os.cpus() answer in a jar, and waits for the request in a warm one.
'use strict';

/*
 * Embedded in the binary by tools/embed.py and shown in every jar as /etc/belljar/node.js. It runs as the guest, with the guest's rights:
 * nothing here guards anything. Two jobs:
 *
 * 1. /proc has no cpuinfo in a jar, so os.cpus() is empty, and programs that size a pool by its length start nobody.
 * 2. BELLJAR_WAIT=1 or 2: node was started before there was a request. Block until the feed (src/jar/feed.h) comes on descriptor 3, make its files,
 *    take its arguments, environment and folder, and go on as if node had been started with them.
 *
 * A program must not notice: no global, no cache entry, no option in process.execArgv, no frame in a stack. Worker threads load this file
 * again by themselves, since node copies the option to them; processes made by child_process.fork do not, and see an empty os.cpus().
 *
 * What cannot be made up for in a warm node, because it is read when the process starts: NODE_* and LD_* variables and the locale (LANG,
 * LC_*). Whoever hands out warm jars must not use one for a request that sets them. performance.now() and process.uptime() count from the
 * start of the process, and bytes in arguments and variables that are no UTF-8 arrive as U+FFFD.
 */

const Module = require('module');

const FEED_FD = 3;
const WORKSPACE = '/workspace';
const FEED_MAGIC = 0x626a6631;
const FEED_NAME_MAX = 4096;
const FEED_WORDS_MAX = 1 << 20;
const REC_SIZE = 32;
const BLOCK_SIZE = 65536;
const [FEED_DIR, FEED_FILE, FEED_LINK, FEED_ARGV, FEED_ENV, FEED_CWD, FEED_GO] = [1, 2, 3, 4, 5, 6, 7];
const [WAIT, PRACTISE] = ['1', '2']; // BELLJAR_WAIT
const END_SIGNAL = 0x626a656e; // src/kernel/seccomp.h
const EXIT_SETUP = 125; // as belljar itself: the program never ran

function fail(why) {
	require('fs').writeSync(2, `belljar: ${why}\n`);
	process.exit(EXIT_SETUP);
}

/* Gives the feed's bytes in pieces of any size; one system call per block. Reading past FEED_GO does not happen: nothing follows it. */
class Feed {
	constructor(fs, block) {
		this.fs = fs;
		this.block = block;
		this.view = new DataView(block.buffer, block.byteOffset, block.length);
		this.start = this.end = 0;
	}

	fill() {
		for (;;) {
			try {
				this.end = this.fs.readSync(FEED_FD, this.block, 0, BLOCK_SIZE, null);
				break;
			} catch (e) {
				if (e.code !== 'EINTR')
					throw e;
			}
		}
		this.start = 0;
		if (this.end === 0)
			fail('the feed ended early');
	}

	/* Calls take(bytes) until `size` bytes went through it; the bytes are good until it returns. */
	pass(size, take) {
		while (size > 0) {
			if (this.start === this.end)
				this.fill();
			const stop = Math.min(this.end, this.start + size);
			take(this.block.subarray(this.start, stop));
			size -= stop - this.start;
			this.start = stop;
		}
	}

	/* Good until the next call. Nearly always all of it is in the block already, and nothing is copied. */
	bytes(size) {
		const start = this.start;
		if (size <= this.end - start) {
			this.start += size;
			return this.block.subarray(start, this.start);
		}
		const out = Buffer.allocUnsafeSlow(size);
		let at = 0;
		this.pass(size, (part) => { at += part.copy(out, at); });
		return out;
	}

	words(size) {
		return size ? this.bytes(size).toString('utf8', 0, size - 1).split('\0') : [];
	}

	record() {
		let { view, start } = this;
		if (this.end - start < REC_SIZE) {
			const r = this.bytes(REC_SIZE);
			view = new DataView(r.buffer, r.byteOffset, REC_SIZE);
			start = 0;
		} else {
			this.start += REC_SIZE;
		}
		const word = (at) => view.getUint32(start + at, true);
		const rec = {
			type: word(4),
			mode: word(8),
			nameLen: word(12),
			size: word(16) + word(20) * 2 ** 32,
			mtimeNs: word(24) + view.getInt32(start + 28, true) * 2 ** 32,
		};
		const max = rec.type === FEED_FILE ? Number.MAX_SAFE_INTEGER :
			rec.type === FEED_ARGV || rec.type === FEED_ENV ? FEED_WORDS_MAX : FEED_NAME_MAX - 1;
		if (word(0) !== FEED_MAGIC || rec.nameLen >= FEED_NAME_MAX || rec.size > max)
			fail('the feed is damaged');
		return rec;
	}
}

/* Names and link targets stay bytes: they need not be UTF-8. */
function makeFile(fs, feed, path, rec) {
	const { O_WRONLY, O_CREAT, O_TRUNC, O_NOFOLLOW } = fs.constants;
	const fd = fs.openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, rec.mode);

	feed.pass(rec.size, (part) => {
		for (let at = 0; at < part.length;)
			at += fs.writeSync(fd, part, at);
	});
	// The mode again: umask was applied to the first.
	fs.fchmodSync(fd, rec.mode);
	if (rec.mtimeNs > 0)
		fs.futimesSync(fd, Date.now() / 1e3, rec.mtimeNs / 1e9);
	fs.closeSync(fd);
}

function makeEntry(fs, feed, rec) {
	const name = feed.bytes(rec.nameLen);
	const path = Buffer.concat([Buffer.from(`${WORKSPACE}/`), name]);
	const slash = name.lastIndexOf('/');

	if (slash > 0)
		fs.mkdirSync(path.subarray(0, WORKSPACE.length + 1 + slash), { recursive: true, mode: 0o755 });
	if (rec.type === FEED_FILE) {
		makeFile(fs, feed, path, rec);
	} else if (rec.type === FEED_LINK) {
		fs.symlinkSync(feed.bytes(rec.size), path);
	} else {
		try {
			fs.mkdirSync(path, rec.mode | 0o700);
		} catch (e) {
			if (e.code !== 'EEXIST')
				throw e;
		}
	}
}

function readFeed(fs, block) {
	const feed = new Feed(fs, block);
	const plan = { argv: [], env: [], cwd: '' };

	for (;;) {
		const rec = feed.record();
		switch (rec.type) {
		case FEED_DIR:
		case FEED_FILE:
		case FEED_LINK:
			makeEntry(fs, feed, rec);
			break;
		case FEED_ARGV:
			plan.argv = feed.words(rec.size);
			break;
		case FEED_ENV:
			plan.env = feed.words(rec.size);
			break;
		case FEED_CWD:
			plan.cwd = feed.bytes(rec.size).toString();
			break;
		case FEED_GO:
			return plan;
		default:
			fail('the feed holds a record that does not belong there');
		}
	}
}

function takeEnvironment(words) {
	for (const name of Object.keys(process.env))
		delete process.env[name];
	for (const word of words) {
		const at = word.indexOf('=', 1);
		if (at > 0)
			process.env[word.slice(0, at)] = word.slice(at + 1);
	}
}

/*
 * Node resolved its main file from its own command line before this ran. Another one is run by way of Module.runMain, which node keeps
 * replaceable for preloads. A getter that gives way to the original when it is read leaves neither a frame in a stack nor a changed module.
 */
function runInstead(file) {
	const was = Object.getOwnPropertyDescriptor(Module, 'runMain');

	Object.defineProperty(Module, 'runMain', {
		configurable: true,
		get() {
			Object.defineProperty(Module, 'runMain', was);
			return was.value.bind(Module, file);
		},
	});
}

/* argv of the feed: node, its options, the program's file, its arguments. */
function takeArguments(words) {
	const file = words.findIndex((word, i) => i > 0 && !word.startsWith('-'));

	if (file < 0)
		fail('the feed holds no command');
	const started = process.argv[1];
	const main = require('path').resolve(words[file]);
	process.argv = [process.execPath, main, ...words.slice(file + 1)];
	if (main !== started)
		runInstead(main);
}

function take(plan) {
	takeEnvironment(plan.env);
	process.chdir(plan.cwd);
	takeArguments(plan.argv);
}

/* A feed that changes nothing: one file of three bytes, and what this process has already. */
function madeUpFeed() {
	const record = (type, data, name = '') => {
		const r = Buffer.alloc(REC_SIZE);
		r.writeUInt32LE(FEED_MAGIC, 0);
		r.writeUInt32LE(type, 4);
		r.writeUInt32LE(0o644, 8);
		r.writeUInt32LE(name.length, 12);
		r.writeBigUInt64LE(BigInt(Buffer.byteLength(data)), 16);
		return Buffer.concat([r, Buffer.from(name + data)]);
	};
	const env = Object.entries(process.env).map(([name, value]) => `${name}=${value}\0`).join('');
	const argv = `${process.execPath}\0-r\0${process.argv[1]}\0`;

	return Buffer.concat([record(FEED_FILE, 'abc', 'main.js'), record(FEED_ARGV, argv), record(FEED_ENV, env),
		record(FEED_CWD, process.cwd()), record(FEED_GO, '')]);
}

/* Ticks take numbers that async_hooks would show: they are given back. Asking for the counter takes away its own warning (docs/warm.md). */
function keepingIds(work) {
	process.noDeprecation = true;
	const { async_id_fields: fields, constants: { kAsyncIdCounter } } = process.binding('async_wrap');
	delete process.noDeprecation;
	const was = fields[kAsyncIdCounter];
	if (!(was > 0))
		return;
	try {
		work();
	} finally {
		fields[kAsyncIdCounter] = was;
	}
}

/*
 * process.stdout and process.stderr up to the end of their making, which fails, so that nobody keeps them: their sockets are objects of ours. And the socket's own
 * way to a descriptor, with one that it does not take.
 */
function practiseStreams(fs) {
	const net = require('net');
	const { Socket } = net;
	const isPipe = (fd) => fs.fstatSync(fd).isFIFO();
	const fd = fs.openSync('/dev/null');

	class Stream {
		set _isStdio(_) {
			throw Stream;
		}
	}
	const fails = (work) => {
		try {
			work();
		} catch {
			// as it should
		}
	};
	fails(() => new Socket({ fd }));
	fs.closeSync(fd);
	try {
		net.Socket = Stream;
		if (isPipe(1))
			fails(() => console._stdout);
		if (isPipe(2))
			fails(() => console._stderr);
	} finally {
		net.Socket = Socket;
	}
}

/*
 * Functions are compiled when they are first called, which is most of what a short program waits for. All that a run will do is done once before
 * there is one, with nothing left of it: the feed comes from memory and its file goes to /dev/null, the console and the socket write to objects
 * of ours, the main module is this file again, which does nothing then. No descriptor, timer, tick or asynchronous id stays used up.
 */
function practise(fs, block) {
	const feed = madeUpFeed();
	const { openSync, writeSync, closeSync, constants } = fs;
	take(readFeed({
		constants, writeSync, closeSync,
		readSync: (fd, to) => feed.copy(to),
		openSync: (path, flags, mode) => openSync('/dev/null', constants.O_WRONLY, mode),
		fchmodSync() {
			try {
				fs.fchmodSync(FEED_FD, fs.fstatSync(FEED_FD).mode & 0o7777); // the mode that it has
			} catch {
				// not ours
			}
		},
	}, block));

	const sink = { write(text, done) { done?.(null); return true; }, on() { }, once() { }, removeListener() { }, listenerCount: () => 0 };
	// Asked for colours, it would make the real process.stderr.
	const print = new console.Console({ stdout: sink, stderr: sink, colorMode: false });
	print.log(2);
	print.log('%s %d %j', 'a', 1, {});
	print.log('a', 1, 1n, true, null, undefined, [1, 'a'], { a: { b: 1 } }, new Map([[1, 2]]));
	print.error('a');

	keepingIds(() => {
		const { Socket } = require('net');
		const { Writable } = require('stream');
		const written = () => 0;
		const handle = { getAsyncId: () => 0, writeUtf8String: written, writeLatin1String: written, writeBuffer: written };
		const socket = new Socket({ handle, readable: false, writable: true });
		const ignore = () => { };
		socket.once('error', ignore);
		socket.write('a\n', ignore);
		socket.removeListener('error', ignore);
		new Writable({ decodeStrings: false, write: (data, encoding, done) => done() }).write('a', ignore);
		practiseStreams(fs);
		process.nextTick(ignore, 0);
		process._tickCallback();
	});

	const main = Object.getOwnPropertyDescriptor(process, 'mainModule');
	forget(); // else it would not be read again
	try {
		Module.runMain(__filename);
	} finally {
		delete process.mainModule;
		if (main)
			Object.defineProperty(process, 'mainModule', main);
	}
}

/*
 * A program whose event loop is empty, which nobody asked to hear of the end and which ends with 0 ends as process.exit() does: the heap is not
 * taken apart first. Node looks for listeners of 'exit' in process._events then; what it finds is our end instead of nothing. Not where
 * somebody stands between (signal-exit, domain), and not with native modules or databases, which may have something to do at the end. Where nothing is
 * under way it says so to the keeper, and does not come back from that; anywhere else than in a warm jar the call fails.
 */
function endAtOnce() {
	const { emit, reallyExit, pid, _kill: kill, _getActiveRequests: requests } = process;
	const closes = /\.node$/;
	const isOurs = (name, value) => Object.getOwnPropertyDescriptor(process, name)?.value === value;
	const isPlain = () => isOurs('reallyExit', reallyExit) && isOurs('emit', undefined) && process.emit === emit &&
		!Object.keys(Module._cache).some((file) => closes.test(file)) && !['sqlite', 'trace_events'].some((name) => process.moduleLoadList.includes(`NativeModule ${name}`));
	/* Nobody is left who does something: no write of files that is under way in a thread, no child that may still print. */
	const isAlone = () => requests().length === 0 && !process.moduleLoadList.includes('NativeModule child_process');
	const end = (code) => {
		if (code !== 0)
			return;
		if (isAlone())
			kill(pid, END_SIGNAL);
		reallyExit(0);
	};

	process._events = new Proxy(process._events, {
		get(events, name) {
			const listener = events[name];
			return listener === undefined && name === 'exit' && process._exiting === true && isPlain() ? end : listener;
		},
	});
	isPlain();
	isAlone();
	end();
	process.emit('exit');
}

/* While there is time. Gives the block that the feed is read into. */
function prepare(fs, wait) {
	delete process.env.BELLJAR_WAIT;
	// Most programs write: what process.stdout will load is loaded while there is time. The streams themselves are made by the program's
	// first use as ever, since making them changes the descriptors' flags, which its children would see.
	require('net');
	require('tty');
	const block = Buffer.allocUnsafeSlow(BLOCK_SIZE);
	if (wait === PRACTISE) {
		try {
			practise(fs, block);
		} catch {
			// a node that is made otherwise: it will be slower
		}
	}
	endAtOnce();
	return block;
}

function waitForRequest(fs, block) {
	// Whoever waits for us to be ready hears it on the feed itself, where that goes both ways.
	try {
		fs.writeSync(FEED_FD, 'r');
	} catch {
		// a pipe
	}
	try {
		const plan = readFeed(fs, block);
		fs.closeSync(FEED_FD);
		take(plan);
	} catch (e) {
		fail(e.message);
	}
}

/* Only the first thread waits, and only where there is somebody to wait for: a program's own BELLJAR_WAIT means nothing. */
function isAwaited(fs) {
	try {
		const st = fs.fstatSync(FEED_FD);
		return (st.isFIFO() || st.isSocket()) && require('worker_threads').isMainThread;
	} catch {
		return false;
	}
}

/* As many entries as threads can run at once. Model and times are unknown; a list that is there stays. */
function showCpus() {
	const os = require('os');
	const real = os.cpus;

	function cpus() {
		const list = real();
		for (let n = list.length ? 0 : os.availableParallelism(); n > 0; n--)
			list.push({ model: 'unknown', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } });
		return list;
	}
	os.cpus = cpus;
	Module.syncBuiltinESMExports(); // for: import { cpus } from 'os'
}

function hide() {
	const option = `--require=${__filename}`;

	process.execArgv = process.execArgv.filter((word) => word !== option);
	forget();
}

function forget() {
	delete Module._cache[__filename];
	for (const key of Object.keys(Module._pathCache))
		if (key.startsWith(`${__filename}\0`))
			delete Module._pathCache[key];
}

// As the main module it is only practice.
if (process.mainModule !== module) {
	showCpus();
	const fs = require('fs');
	const wait = process.env.BELLJAR_WAIT;
	const awaited = (wait === WAIT || wait === PRACTISE) && isAwaited(fs);
	const block = awaited && prepare(fs, wait);
	hide();
	if (awaited)
		waitForRequest(fs, block);
}
