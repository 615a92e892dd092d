# SPDX-License-Identifier: MIT
def scan(body, carry, items):
    for item in items:
        carry = body(carry, item)
    return carry
