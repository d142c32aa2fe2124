"""Writes a table of collation elements from the DUCET of Unicode, Inc. (allkeys.txt of UTS #10):

    gen_uca.py allkeys-9.0.0.txt > uca.bin

Entries of more than one character are left out: MySQL has none of them either. Hangul syllables and implicit weights follow from a
character's number.

Layout, all little-endian: u32 page count P, u32 expansion count E; u8 index[0x1100] by code point >> 8 (0xFF = no page); P pages of 256 u32; E u32.
An entry is a collation element (primary << 16 | secondary << 5 | tertiary), 0 for an ignorable character, 0xFFFFFFFF for an implicit weight, or
offset << 16 | 0x8000 | count into the expansions.
"""
import re
import struct
import sys

pages, expansions, seen = {}, [], {}
for line in open(sys.argv[1]):
    entry = re.match(r"([0-9A-F]+)\s*;\s*((?:\[[^\]]*\])+)", line)
    if not entry:
        continue
    code = int(entry[1], 16)
    elements = []
    for p, s, t in re.findall(r"\[[.*]([0-9A-F]+)\.([0-9A-F]+)\.([0-9A-F]+)[^\]]*\]", entry[2]):
        p, s, t = int(p, 16), int(s, 16), int(t, 16)
        assert p <= 0xFFFF and s <= 0x1FF and t <= 0x1F
        if p or s or t:
            elements.append(p << 16 | s << 5 | t)
    if len(elements) <= 1:
        value = elements[0] if elements else 0
    else:
        key = tuple(elements)
        if key not in seen:
            seen[key] = len(expansions)
            expansions += elements
        value = seen[key] << 16 | 0x8000 | len(elements)
    pages.setdefault(code >> 8, {})[code & 0xFF] = value
assert len(expansions) <= 0xFFFF and len(pages) < 255
index = [0xFF] * 0x1100
for n, page in enumerate(sorted(pages)):
    index[page] = n
out = struct.pack("<II", len(pages), len(expansions)) + bytes(index)
for page in sorted(pages):
    out += struct.pack("<256I", *[pages[page].get(i, 0xFFFFFFFF) for i in range(256)])
sys.stdout.buffer.write(out + struct.pack("<%dI" % len(expansions), *expansions))
