# Text that latin1 has no characters for: a dump by a connection in latin1 loses it, from any server.

CREATE TABLE characters (
  c CHAR(20), v VARCHAR(100) NOT NULL, l LONGTEXT, e ENUM('x', 'y') DEFAULT 'y', KEY v (v(3))
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
INSERT INTO characters (c, v, l) VALUES
  (_utf8mb4 0xf09f9880c3a9, _utf8mb4 0xf09f9282f09f8fbe00c3bf, REPEAT(_utf8mb4 0xf09f9880, 20000)),
  (_utf8mb4 0x65cc81, _utf8mb4 0xe697a5e69cace8aa9e, _utf8mb4 0xf48fbfbf);
