# Writes uca.bin from the DUCET that Perl's Unicode::Collate carries, restricted to the code points given on standard input
# (one hexadecimal number a line: those of Unicode 9.0, the version of MySQL's 0900 collations).
#
# Layout, all little-endian: u32 page count P, u32 expansion count E; u8 index[0x1100] by code point >> 8 (0xFF = no page);
# P pages of 256 u32; E u32. An entry is a collation element (primary << 16 | secondary << 5 | tertiary), 0 for an ignorable
# character, 0xFFFFFFFF for an implicit weight, or offset << 16 | 0x8000 | count into the expansions.
use strict;
use warnings;
use Unicode::Collate;
my $c = Unicode::Collate->new(variable => 'non-ignorable', normalization => undef);
my (%page, @exp, %seen);
while (<STDIN>) {
    chomp;
    my $cp = hex;
    next if $cp >= 0xAC00 && $cp <= 0xD7A3;
    my @ce = map { my (undef, $p, $s, $t) = unpack 'Cn3', $_; ($p || $s || $t) ? $p << 16 | $s << 5 | $t : () } $c->getWt($cp);
    # FBC0 and above: in no table and no ideograph, that is a control or format character, which the DUCET ignores.
    @ce = () if @ce && ($ce[0] >> 16) >= 0xFBC0 && $cp != 0xFFFD;
    # Implicit weights are computed, but a compatibility ideograph or radical takes those of another character.
    next if @ce == 2 && ($ce[0] >> 16) == 0xFB00;
    next if @ce == 2 && ($ce[0] >> 16) > 0xFB00 && ((($ce[0] >> 16) & 0x3F) << 15 | ($ce[1] >> 16) & 0x7FFF) == $cp;
    my $e = 0;
    if (@ce == 1) { $e = $ce[0] }
    elsif (@ce) {
        my $k = join ',', @ce;
        if (!defined $seen{$k}) { $seen{$k} = @exp; push @exp, @ce }
        $e = $seen{$k} << 16 | 0x8000 | @ce;
    }
    $page{$cp >> 8}[$cp & 255] = $e;
}
die "too many expansions" if @exp > 0xFFFF;
my @pages = sort { $a <=> $b } keys %page;
my $index = "\xFF" x 0x1100;
die "too many pages" if @pages >= 255;
substr($index, $pages[$_], 1) = chr $_ for 0 .. $#pages;
binmode STDOUT;
print pack('V2', scalar @pages, scalar @exp), $index;
for my $p (@pages) { print pack 'V', $page{$p}[$_] // 0xFFFFFFFF for 0 .. 255 }
print pack 'V*', @exp;
