"""Writes general.bin: the weights of MySQL's general_ci collations.

Rule: weight = simple upper case of the first character of the canonical decomposition, as Unicode 3.0 had them, in the
Latin, Greek, Cyrillic, Armenian and full-width blocks; any other character weighs its own code point.
Layout: 256 bytes, one a high byte: 0xFF = identity, else a page number; then the pages, 256 little-endian u16 each.
"""
import struct
import sys
import unicodedata

old = unicodedata.ucd_3_2_0
# Upper-case pairs younger than Unicode 3.0 (the decomposition data at hand is 3.2).
YOUNG = set(range(0x0220, 0x0222)) | {0x03D8, 0x03D9, 0x03F4, 0x03F5} | set(range(0x048A, 0x048C)) \
    | set(range(0x04C5, 0x04CF)) - {0x04C7, 0x04C8, 0x04CB, 0x04CC} | set(range(0x0500, 0x0510))
BLOCKS = {0x00, 0x01, 0x02, 0x03, 0x04, 0x05, 0x1E, 0x1F, 0x21, 0x24, 0xFF}
EXCEPTIONS = {0x00DF: 0x53, 0x0419: 0x0419, 0x0439: 0x0419, 0x03F2: 0x03A3, 0x019E: 0x019E, 0x03F5: 0x03F5}


def upper(c):
    u = chr(c).upper()
    if len(u) != 1 or old.category(u) == 'Cn' or ord(u) in YOUNG or ord(u) > 0xFFFF:
        return c
    return ord(u)


def weight(c):
    if c >> 8 not in BLOCKS or old.category(chr(c)) == 'Cn':
        return c
    if c in EXCEPTIONS:
        return EXCEPTIONS[c]
    if c in YOUNG:
        return c
    d = old.normalize('NFD', chr(c))
    letter = old.category(d[0])[0] == 'L' and old.category(chr(c))[0] == 'L'
    singleton = len(old.decomposition(chr(c)).split()) == 1
    base = ord(d[0]) if letter and not singleton else c
    return upper(base)


def main(out):
    index, pages = bytearray(), []
    for hi in range(256):
        page = [weight(hi << 8 | lo) for lo in range(256)]
        if page == list(range(hi << 8, (hi + 1) << 8)):
            index.append(0xFF)
        else:
            index.append(len(pages))
            pages.append(page)
    with open(out, 'wb') as f:
        f.write(bytes(index))
        for page in pages:
            f.write(struct.pack('<256H', *page))


if __name__ == '__main__':
    main(sys.argv[1])
