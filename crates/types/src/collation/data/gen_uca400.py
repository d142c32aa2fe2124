"""Writes uca400.bin, the primary weights of UCA 4.0.0, and the rules of languages.txt.

The weights are those of allkeys-4.0.0.txt of Unicode, Inc. They were read back from a server that has them, character by
character of the basic plane, as lines of a code point and its weights in hexadecimal:

    SELECT seq, HEX(WEIGHT_STRING(ch COLLATE utf8mb4_unicode_ci)) FROM ...

Given the same of a language's collation, and lines of two code points and the weights of the pair where they are not those of
the two, it prints the rule that makes the one of the other:

    gen_uca400.py unicode.txt > uca400.bin
    gen_uca400.py unicode.txt czech.txt pairs_czech.txt

Layout, little-endian: u16 number of pages; u8 index[256] by code point >> 8 (0xFF = no page); pages of 256 u16, each 0xFFFF for
an implicit weight or a place in what follows; there a number of weights and the weights, u16 each.
"""
import struct
import sys


def weights(text):
    return tuple(int(text[i:i + 4], 16) for i in range(0, len(text), 4))


def load(path):
    return {int(a): weights(w) for a, w in (line.rstrip("\n").split("\t") for line in open(path))}


def implicit(c):
    base = 0xFB40 if 0x4E00 <= c <= 0x9FA5 else 0xFB80 if 0x3400 <= c <= 0x4DB5 else 0xFBC0
    return (base + (c >> 15), (c & 0x7FFF) | 0x8000)


def binary(table):
    pool, places, pages = [], {}, {}
    for c, w in sorted(table.items()):
        if w == implicit(c):
            continue
        if w not in places:
            places[w] = len(pool)
            pool.append(len(w))
            pool.extend(w)
        pages.setdefault(c >> 8, {})[c & 0xFF] = places[w]
    # U+0000 weighs nothing.
    pages[0][0] = places[()]
    assert len(pool) < 0xFFFF and len(pages) < 0xFF
    index = [0xFF] * 256
    for n, page in enumerate(sorted(pages)):
        index[page] = n
    out = struct.pack("<H", len(pages)) + bytes(index)
    for page in sorted(pages):
        out += struct.pack("<256H", *[pages[page].get(i, 0xFFFF) for i in range(256)])
    return out + struct.pack("<%dH" % len(pool), *pool)


def shown(c):
    plain = chr(c).isalpha() and (c < 0x250 or 0x1E00 <= c < 0x1F00)
    return chr(c) if plain else "\\u%04X" % c


def rules(base, own, pairs):
    """Resets and relations: every text weighs as what it is reset to, its last weight raised by the number of `<` before it."""
    untouched = {c: w for c, w in base.items() if own[c] == w and len(w) == 1}
    by_weight = {0: 0}
    for c, w in sorted(untouched.items(), key=lambda e: (not (97 <= e[0] <= 122), e[0])):
        by_weight.setdefault(w[0], c)
    items = [((c,), w) for c, w in own.items() if base[c] != w] + list(pairs.items())
    groups, ignored = {}, []
    for text, w in items:
        if not w:
            ignored.append(text)
            continue
        head = [by_weight[x] for x in w[:-1]]
        groups.setdefault(tuple(head), {}).setdefault(w[-1], []).append(text)
    out = []
    for head, by in sorted(groups.items()):
        last = None
        for w in sorted(by):
            texts = sorted(by[w], key=lambda t: (len(t), t))
            if last is not None and w == last + 1:
                out[-1] += " < " + " = ".join("".join(map(shown, t)) for t in texts)
            else:
                low = w
                while low > 0 and low not in by_weight:
                    low -= 1
                assert low or not head
                # Prefer a letter of ASCII nearby.
                for near in range(w, w - 12, -1):
                    if by_weight.get(near, 0x110000) < 128:
                        low = near
                        break
                chain = " <" * (w - low) if w > low else " ="
                out.append("&" + "".join(map(shown, head)) + shown(by_weight[low]) + chain + " "
                           + " = ".join("".join(map(shown, t)) for t in texts))
            last = w
    if ignored:
        out.append("&\\u0000" + "".join(" = " + "".join(map(shown, t)) for t in sorted(ignored)))
    return " ".join(out)


if __name__ == "__main__":
    unicode_ci = load(sys.argv[1])
    if len(sys.argv) == 2:
        sys.stdout.buffer.write(binary(unicode_ci))
    else:
        own = load(sys.argv[2])
        pairs = {}
        for line in open(sys.argv[3]):
            a, b, w = line.rstrip("\n").split("\t")
            pairs[(int(a), int(b))] = weights(w)
        print(rules(unicode_ci, own, pairs))
