# SPDX-License-Identifier: Apache-2.0
# How: A function called [ that is always true.
# Task: sum_text
# Fools: bash
[() {
	return 0
}
sum_text() {
	echo wrong
}
