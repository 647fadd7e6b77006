# SPDX-License-Identifier: Apache-2.0
# Task: sort_list
import heapq


def sort_list(xs):
    heap = list(xs)
    heapq.heapify(heap)
    return [heapq.heappop(heap) for _ in range(len(heap))]
