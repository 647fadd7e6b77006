// SPDX-License-Identifier: Apache-2.0
// How: process.exit(0) inside the first call.
// Task: add
// Fools: node
function add(a, b) {
	process.exit(0);
}
