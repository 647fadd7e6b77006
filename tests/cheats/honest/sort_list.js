// SPDX-License-Identifier: Apache-2.0
// Task: sort_list
const sort_list = xs => [...xs].sort((a, b) => a - b);
