// SPDX-License-Identifier: Apache-2.0
// How: A handler for uncaught exceptions swallows them, and the exit code becomes 0.
// Task: fib
// Fools: -
Object.defineProperty(process, "exitCode", { set() { }, get() { return 0; } });
function fib(n) {
	return NaN;
}
