# BIT columns. MySQL writes their bytes to text files as they are, so that a tab among them comes back as the end of a field.

CREATE TABLE bits (
  a BIT, b BIT(8) DEFAULT b'101', c BIT(13), d BIT(64) NOT NULL DEFAULT b'1111'
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO bits VALUES
  (b'0', b'0', b'0', b'0'), (b'1', b'11111111', b'1111111111111', 0xffffffffffffffff),
  (b'1', 0x27, 0x5c, 0x275c00220a0d1a25), (b'0', 0x5c, 0x1a, 0x8000000000000000), (NULL, DEFAULT, NULL, DEFAULT);
