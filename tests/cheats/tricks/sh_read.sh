# SPDX-License-Identifier: Apache-2.0
# How: The driver's variable with the expected value is in scope of the function.
# Task: sum_text
# Fools: bash
sum_text() {
	# shellcheck disable=SC2154
	echo "$expected"
}
