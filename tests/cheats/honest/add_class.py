# SPDX-License-Identifier: Apache-2.0
# Task: add
# Func: Solution().add
# Styles: test
class Solution:
    def add(self, a, b):
        return self.really(a, b)

    def really(self, a, b):
        return a + b
