-- Work for SQLite: inserts, an index, joins, sorting.
CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT, town TEXT);
CREATE TABLE sale(id INTEGER PRIMARY KEY, customer INTEGER, amount INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO customer SELECT i, 'name' || (i * 7919 % 2003), 'town' || i % 50 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO sale SELECT i, i * 31 % 2000 + 1, i * 17 % 1000 FROM n;
CREATE INDEX by_customer ON sale(customer);
SELECT town, sum(amount) AS total FROM customer JOIN sale ON customer = customer.id
GROUP BY town ORDER BY total DESC;
SELECT name, count(*), max(amount) FROM sale JOIN customer ON customer = customer.id
WHERE name LIKE '%1%' GROUP BY name ORDER BY 3, 2;
