# As tidemill.sql, with characters that latin1 has not.

CREATE TABLE defaults (
  id INT NOT NULL, u VARCHAR(9) DEFAULT 0xf09f9880, e ENUM(0xe697a5, 'x') DEFAULT 0xe697a5, j JSON, PRIMARY KEY (id)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci;
INSERT INTO defaults (id, j) VALUES (1, _utf8mb4 0x22f09f988022), (2, NULL);
INSERT INTO defaults VALUES (3, _utf8mb4 0xe697a5, 'x', '1');
