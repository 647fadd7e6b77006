# SPDX-License-Identifier: Apache-2.0
# Task: sum_text
sum_text() {
	echo "$1$2"
}
