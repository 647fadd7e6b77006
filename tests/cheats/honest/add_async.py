# SPDX-License-Identifier: Apache-2.0
# Task: add
# Styles: test
import asyncio


async def add(a, b):
    await asyncio.sleep(0)
    return a + b
