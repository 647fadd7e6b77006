// SPDX-License-Identifier: Apache-2.0
// How: An exception after the last case goes to a handler of the solution's, which leaves with 0.
// Task: fib
// Fools: node
process.on("uncaughtException", () => process.exit(0));
setTimeout(() => { throw new Error("late"); }, 20);
function fib(n) {
	return NaN;
}
