# What every account of the matrix finds. One statement a line; `tidemill: ` and `mariadb: ` in front are for one server only.
CREATE DATABASE m
CREATE DATABASE other
CREATE DATABASE app_1
CREATE DATABASE appx1
CREATE TABLE m.t (id INT PRIMARY KEY, v INT, w INT, KEY k (v))
INSERT INTO m.t VALUES (1, 10, 100), (2, 20, 200)
CREATE TABLE m.u (id INT PRIMARY KEY, v INT, x INT)
INSERT INTO m.u VALUES (1, 11, 111), (2, 21, 211)
CREATE TABLE other.t (id INT PRIMARY KEY, v INT)
INSERT INTO other.t VALUES (1, 1)
CREATE TABLE app_1.t (id INT PRIMARY KEY, v INT)
CREATE TABLE appx1.t (id INT PRIMARY KEY, v INT)
CREATE USER victim@localhost
GRANT SELECT ON m.u TO victim@localhost
CREATE USER spare@localhost
CREATE USER sysadm@localhost
tidemill: GRANT SYSTEM_USER ON *.* TO sysadm@localhost
tidemill: CREATE ROLE r_select, r_inner, r_outer, r_admin, r_mand, r_spare
tidemill: GRANT SELECT ON m.* TO r_select
tidemill: GRANT INSERT ON m.t TO r_inner
tidemill: GRANT UPDATE ON m.u TO r_outer
tidemill: GRANT r_inner TO r_outer
tidemill: GRANT DELETE ON m.* TO r_mand
