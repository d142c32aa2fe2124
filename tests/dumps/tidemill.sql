# Tables as MySQL 8.0 has them and MariaDB has not, or shows in a way that loses something. They are dumped from Tidemill and come back there.

CREATE TABLE documents (
  id INT NOT NULL, j JSON, k JSON NOT NULL, d JSON DEFAULT (_utf8mb4'{"a": 1}'), PRIMARY KEY (id)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO documents (id, j, k) VALUES
  (1, '{"a": [1, 2.5, null, true, "x\\"y\\\\z"]}', '[]'), (2, '"text"', '1'), (3, 'null', '{"k": "caf\\u00e9"}'),
  (4, NULL, '{}'), (5, '0', '"\\n\\t\\u0001"'), (6, '[]', '-1.5e300');

CREATE TABLE binary_defaults (
  id INT NOT NULL AUTO_INCREMENT, v VARBINARY(9) DEFAULT 0xff00, w VARBINARY(20) NOT NULL DEFAULT 'a\\''b\n', b BINARY(4) DEFAULT 0xc328,
  x BINARY(3) DEFAULT 0x00ff27, PRIMARY KEY (id), KEY v (v DESC)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO binary_defaults (id) VALUES (1), (2);

CREATE TABLE expressions (
  id INT NOT NULL, t TEXT DEFAULT (_utf8mb4'it''s'), b BLOB DEFAULT (0xff00), c VARCHAR(40) DEFAULT (CONCAT('x', 1 + 2)), PRIMARY KEY (id)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO expressions (id) VALUES (1);

CREATE TABLE collations (
  a VARCHAR(20) COLLATE utf8mb4_0900_ai_ci, b VARCHAR(20) COLLATE utf8mb4_0900_as_cs, c VARCHAR(20) CHARACTER SET utf8mb3,
  d VARCHAR(20) COLLATE utf8mb4_0900_bin, e ENUM('x', 'y') COLLATE utf8mb4_0900_as_cs,
  l ENUM('plain', 'back\\slash') CHARACTER SET latin1, KEY a (a), KEY d (d(3) DESC)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci ROW_FORMAT=COMPRESSED;
INSERT INTO collations VALUES (_utf8mb4 0xc389, 'b', _utf8mb4 0xe282ac, _utf8mb4 0xc3a9, 'y', 2), (NULL, 'a ', 'b ', 'c ', NULL, 1);

CREATE TABLE hidden (a INT NOT NULL, b INT INVISIBLE DEFAULT '7', KEY k (a) INVISIBLE) DEFAULT CHARSET=utf8mb4;
INSERT INTO hidden (a, b) VALUES (1, 2), (3, 4);
