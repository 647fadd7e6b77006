// SPDX-License-Identifier: Apache-2.0
// Task: add
function add(a, b) {
	return a + b;
}
