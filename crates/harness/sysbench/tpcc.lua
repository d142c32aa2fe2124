-- TPC-C for sysbench: the five transactions of the specification (TPC-C, revision 5.11, clauses 2.4 to 2.8), without keying and think times, over tables
-- whose size can be chosen, and the consistency conditions of clause 3.3.2 as a command.
--
--   sysbench tpcc.lua --mysql-socket=... --mysql-user=root --mysql-db=tpcc --warehouses=2 prepare | run | check | cleanup
--
-- A transaction that the server refuses with an error of --mysql-ignore-errors is rolled back, and sysbench counts it. Any other error ends the run.

sysbench.cmdline.options = {
   warehouses = {"Warehouses", 2},
   items = {"Items, and rows of stock of a warehouse (the specification: 100,000)", 1000},
   customers = {"Customers of a district, and its first orders (the specification: 3,000)", 120},
}

local DISTRICTS = 10
local LINES = {5, 15}

local TABLES = {
   warehouse = [[CREATE TABLE warehouse (w_id INT NOT NULL PRIMARY KEY, w_name VARCHAR(10), w_street VARCHAR(20), w_city VARCHAR(20), w_state CHAR(2),
      w_zip CHAR(9), w_tax DECIMAL(4,4), w_ytd DECIMAL(12,2))]],
   district = [[CREATE TABLE district (d_w_id INT NOT NULL, d_id INT NOT NULL, d_name VARCHAR(10), d_street VARCHAR(20), d_city VARCHAR(20), d_state CHAR(2),
      d_zip CHAR(9), d_tax DECIMAL(4,4), d_ytd DECIMAL(12,2), d_next_o_id INT, PRIMARY KEY (d_w_id, d_id))]],
   customer = [[CREATE TABLE customer (c_w_id INT NOT NULL, c_d_id INT NOT NULL, c_id INT NOT NULL, c_first VARCHAR(16), c_middle CHAR(2), c_last VARCHAR(16),
      c_street VARCHAR(20), c_city VARCHAR(20), c_state CHAR(2), c_zip CHAR(9), c_phone CHAR(16), c_since DATETIME, c_credit CHAR(2), c_credit_lim DECIMAL(12,2),
      c_discount DECIMAL(4,4), c_balance DECIMAL(12,2), c_ytd_payment DECIMAL(12,2), c_payment_cnt INT, c_delivery_cnt INT, c_data TEXT,
      PRIMARY KEY (c_w_id, c_d_id, c_id), KEY by_name (c_w_id, c_d_id, c_last, c_first))]],
   history = [[CREATE TABLE history (h_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, h_c_id INT, h_c_d_id INT, h_c_w_id INT, h_d_id INT, h_w_id INT,
      h_date DATETIME, h_amount DECIMAL(6,2), h_data VARCHAR(24))]],
   orders = [[CREATE TABLE orders (o_w_id INT NOT NULL, o_d_id INT NOT NULL, o_id INT NOT NULL, o_c_id INT, o_entry_d DATETIME, o_carrier_id INT, o_ol_cnt INT,
      o_all_local INT, PRIMARY KEY (o_w_id, o_d_id, o_id), KEY of_customer (o_w_id, o_d_id, o_c_id, o_id))]],
   new_order = [[CREATE TABLE new_order (no_w_id INT NOT NULL, no_d_id INT NOT NULL, no_o_id INT NOT NULL, PRIMARY KEY (no_w_id, no_d_id, no_o_id))]],
   order_line = [[CREATE TABLE order_line (ol_w_id INT NOT NULL, ol_d_id INT NOT NULL, ol_o_id INT NOT NULL, ol_number INT NOT NULL, ol_i_id INT,
      ol_supply_w_id INT, ol_delivery_d DATETIME, ol_quantity INT, ol_amount DECIMAL(6,2), ol_dist_info CHAR(24), PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))]],
   item = [[CREATE TABLE item (i_id INT NOT NULL PRIMARY KEY, i_im_id INT, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50))]],
   stock = [[CREATE TABLE stock (s_w_id INT NOT NULL, s_i_id INT NOT NULL, s_quantity INT, s_dist CHAR(24), s_ytd INT, s_order_cnt INT, s_remote_cnt INT,
      s_data VARCHAR(50), PRIMARY KEY (s_w_id, s_i_id))]],
}

local SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

-- Random choices --------------------------------------------------------------------------------------------------------------------------------------

local function uniform(low, high) return sysbench.rand.uniform(low, high) end

-- Clause 2.1.6; the constants C are fixed.
local function skewed(a, c, low, high)
   local mixed = bit.bor(uniform(0, a), uniform(low, high))
   return (mixed + c) % (high - low + 1) + low
end

local function last_name(n)
   return SYLLABLES[math.floor(n / 100) % 10 + 1] .. SYLLABLES[math.floor(n / 10) % 10 + 1] .. SYLLABLES[n % 10 + 1]
end

local function letters(length) return sysbench.rand.string(string.rep("@", length)) end

local function some_customer() return skewed(1023, 259, 1, sysbench.opt.customers) end

local function some_name()
   return last_name(skewed(255, 223, 0, math.min(sysbench.opt.customers, 1000) - 1))
end

local function another_warehouse(home)
   local count = sysbench.opt.warehouses
   if count == 1 then return home end
   local w = uniform(1, count - 1)
   return w >= home and w + 1 or w
end

-- Tables ----------------------------------------------------------------------------------------------------------------------------------------------

local function bulk(connection, into, rows)
   connection:bulk_insert_init("INSERT INTO " .. into .. " VALUES ")
   for row in rows do connection:bulk_insert_next("(" .. row .. ")") end
   connection:bulk_insert_done()
end

local function each(low, high, row)
   return coroutine.wrap(function()
      for n = low, high do coroutine.yield(row(n)) end
   end)
end

local function fill_district(connection, w, d)
   local customers = sysbench.opt.customers
   bulk(connection, "customer", each(1, customers, function(c)
      -- The first thousand have all names; the others have random ones.
      local name = c <= 1000 and last_name(c - 1) or some_name()
      return string.format("%d, %d, %d, '%s', 'OE', '%s', '%s', '%s', 'ST', '123411111', '0123456789012345', NOW(), '%s', 50000, %.4f, -10, 10, 1, 0, '%s'",
         w, d, c, letters(12), name, letters(15), letters(15), uniform(1, 10) == 1 and "BC" or "GC", uniform(0, 5000) / 10000, letters(300))
   end))
   bulk(connection, "history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)", each(1, customers, function(c)
      return string.format("%d, %d, %d, %d, %d, NOW(), 10, '%s'", c, d, w, d, w, letters(20))
   end))
   -- Each customer has one order, in a random order; the last three in ten wait for delivery.
   local of = {}
   for n = 1, customers do of[n] = n end
   for n = customers, 2, -1 do
      local other = uniform(1, n)
      of[n], of[other] = of[other], of[n]
   end
   local delivered = math.floor(customers * 7 / 10)
   local counts = {}
   for n = 1, customers do counts[n] = uniform(LINES[1], LINES[2]) end
   bulk(connection, "orders", each(1, customers, function(o)
      local carrier = o <= delivered and uniform(1, 10) or "NULL"
      return string.format("%d, %d, %d, %d, NOW(), %s, %d, 1", w, d, o, of[o], carrier, counts[o])
   end))
   bulk(connection, "new_order", each(delivered + 1, customers, function(o) return string.format("%d, %d, %d", w, d, o) end))
   bulk(connection, "order_line", coroutine.wrap(function()
      for o = 1, customers do
         for line = 1, counts[o] do
            local done = o <= delivered
            coroutine.yield(string.format("%d, %d, %d, %d, %d, %d, %s, 5, %.2f, '%s'", w, d, o, line, uniform(1, sysbench.opt.items), w,
               done and "NOW()" or "NULL", done and 0 or uniform(1, 999999) / 100, letters(24)))
         end
      end
   end))
   -- What they have been delivered costs nothing, so their balances are right.
end

local function fill_warehouse(connection, w)
   local customers = sysbench.opt.customers
   connection:query(string.format("INSERT INTO warehouse VALUES (%d, '%s', '%s', '%s', 'ST', '123411111', %.4f, %d)", w, letters(8), letters(15), letters(15),
      uniform(0, 2000) / 10000, DISTRICTS * customers * 10))
   bulk(connection, "stock", each(1, sysbench.opt.items, function(i)
      return string.format("%d, %d, %d, '%s', 0, 0, 0, '%s'", w, i, uniform(10, 100), letters(24), letters(40))
   end))
   for d = 1, DISTRICTS do
      connection:query(string.format("INSERT INTO district VALUES (%d, %d, '%s', '%s', '%s', 'ST', '123411111', %.4f, %d, %d)", w, d, letters(8), letters(15),
         letters(15), uniform(0, 2000) / 10000, customers * 10, customers + 1))
      fill_district(connection, w, d)
   end
end

local function prepare()
   local connection = sysbench.sql.driver():connect()
   for _, sql in pairs(TABLES) do connection:query(sql) end
   bulk(connection, "item", each(1, sysbench.opt.items, function(i)
      return string.format("%d, %d, '%s', %.2f, '%s'", i, uniform(1, 10000), letters(20), uniform(100, 10000) / 100, letters(40))
   end))
   for w = 1, sysbench.opt.warehouses do fill_warehouse(connection, w) end
end

local function cleanup()
   local connection = sysbench.sql.driver():connect()
   for name in pairs(TABLES) do connection:query("DROP TABLE IF EXISTS " .. name) end
end

-- Transactions ----------------------------------------------------------------------------------------------------------------------------------------

local con

local function run(text, ...) return con:query(string.format(text, ...)) end

local function row(text, ...) return con:query_row(string.format(text, ...)) end

-- Clause 2.4. One in a hundred names an item that is not there, and is rolled back.
local function new_order(w)
   local d, c = uniform(1, DISTRICTS), some_customer()
   local count, fails = uniform(LINES[1], LINES[2]), uniform(1, 100) == 1
   con:query("BEGIN")
   local discount, w_tax = row("SELECT c_discount, w_tax FROM customer, warehouse WHERE w_id = %d AND c_w_id = w_id AND c_d_id = %d AND c_id = %d", w, d, c)
   local o, d_tax = row("SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = %d AND d_id = %d FOR UPDATE", w, d)
   run("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = %d AND d_id = %d", w, d)
   local lines, all_local = {}, 1
   for n = 1, count do
      local from = uniform(1, 100) == 1 and another_warehouse(w) or w
      if from ~= w then all_local = 0 end
      lines[n] = {item = skewed(8191, 7911, 1, sysbench.opt.items), from = from, quantity = uniform(1, 10)}
   end
   run("INSERT INTO orders VALUES (%d, %d, %d, %d, NOW(), NULL, %d, %d)", w, d, o, c, count, all_local)
   run("INSERT INTO new_order VALUES (%d, %d, %d)", w, d, o)
   for n, line in ipairs(lines) do
      local item = fails and n == count and sysbench.opt.items + 1 or line.item
      local price = row("SELECT i_price, i_name, i_data FROM item WHERE i_id = %d", item)
      if price == nil then
         con:query("ROLLBACK")
         return
      end
      local left, info = row("SELECT s_quantity, s_dist, s_data FROM stock WHERE s_w_id = %d AND s_i_id = %d FOR UPDATE", line.from, item)
      left = tonumber(left) - line.quantity
      if left < 10 then left = left + 91 end
      run("UPDATE stock SET s_quantity = %d, s_ytd = s_ytd + %d, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + %d WHERE s_w_id = %d AND s_i_id = %d",
         left, line.quantity, line.from == w and 0 or 1, line.from, item)
      local amount = line.quantity * price * (1 + w_tax + d_tax) * (1 - discount)
      run("INSERT INTO order_line VALUES (%d, %d, %d, %d, %d, %d, NULL, %d, %.2f, '%s')", w, d, o, n, item, line.from, line.quantity, amount, info)
   end
   con:query("COMMIT")
end

-- A customer by number, or the one in the middle of those of a name.
local function find_customer(w, d, lock)
   if uniform(1, 100) > 60 then return some_customer() end
   local name = some_name()
   local rs = run("SELECT c_id FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_last = '%s' ORDER BY c_first%s", w, d, name, lock)
   local middle = math.ceil(rs.nrows / 2)
   local c
   for _ = 1, middle do c = rs:fetch_row()[1] end
   rs:free()
   return c
end

-- Clause 2.5.
local function payment(w)
   local d, amount = uniform(1, DISTRICTS), uniform(100, 500000) / 100
   local c_w, c_d = w, d
   if uniform(1, 100) > 85 then c_w, c_d = another_warehouse(w), uniform(1, DISTRICTS) end
   con:query("BEGIN")
   run("UPDATE warehouse SET w_ytd = w_ytd + %.2f WHERE w_id = %d", amount, w)
   row("SELECT w_name, w_street, w_city, w_state, w_zip FROM warehouse WHERE w_id = %d", w)
   run("UPDATE district SET d_ytd = d_ytd + %.2f WHERE d_w_id = %d AND d_id = %d", amount, w, d)
   row("SELECT d_name, d_street, d_city, d_state, d_zip FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
   local c = find_customer(c_w, c_d, " FOR UPDATE")
   if c == nil then
      con:query("ROLLBACK")
      return
   end
   local credit = row("SELECT c_credit, c_balance, c_data FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d FOR UPDATE", c_w, c_d, c)
   local data = ""
   if credit == "BC" then data = string.format(", c_data = LEFT(CONCAT('%d %d %d %d %d %.2f | ', c_data), 500)", c, c_d, c_w, d, w, amount) end
   run("UPDATE customer SET c_balance = c_balance - %.2f, c_ytd_payment = c_ytd_payment + %.2f, c_payment_cnt = c_payment_cnt + 1%s WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d",
      amount, amount, data, c_w, c_d, c)
   run("INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (%d, %d, %d, %d, %d, NOW(), %.2f, '%s')", c, c_d, c_w, d, w,
      amount, letters(20))
   con:query("COMMIT")
end

-- Clause 2.6.
local function order_status(w)
   local d = uniform(1, DISTRICTS)
   con:query("BEGIN")
   local c = find_customer(w, d, "")
   if c ~= nil then
      row("SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", w, d, c)
      local o = row("SELECT o_id, o_entry_d, o_carrier_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_c_id = %d ORDER BY o_id DESC LIMIT 1", w, d, c)
      if o ~= nil then
         local rs = run("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
         assert(rs.nrows > 0, "an order without lines")
         rs:free()
      end
   end
   con:query("COMMIT")
end

-- Clause 2.7, all districts in one transaction.
local function delivery(w)
   local carrier = uniform(1, 10)
   con:query("BEGIN")
   for d = 1, DISTRICTS do
      local o = row("SELECT no_o_id FROM new_order WHERE no_w_id = %d AND no_d_id = %d ORDER BY no_o_id LIMIT 1 FOR UPDATE", w, d)
      if o ~= nil then
         run("DELETE FROM new_order WHERE no_w_id = %d AND no_d_id = %d AND no_o_id = %d", w, d, o)
         -- First the change: the snapshot may be older than an order that the locking read has found, and shows what was changed here.
         run("UPDATE orders SET o_carrier_id = %d WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", carrier, w, d, o)
         local c = row("SELECT o_c_id FROM orders WHERE o_w_id = %d AND o_d_id = %d AND o_id = %d", w, d, o)
         run("UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
         local amount = row("SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id = %d", w, d, o)
         run("UPDATE customer SET c_balance = c_balance + %s, c_delivery_cnt = c_delivery_cnt + 1 WHERE c_w_id = %d AND c_d_id = %d AND c_id = %d", amount, w, d, c)
      end
   end
   con:query("COMMIT")
end

-- Clause 2.8.
local function stock_level(w)
   local d = uniform(1, DISTRICTS)
   con:query("BEGIN")
   local o = row("SELECT d_next_o_id FROM district WHERE d_w_id = %d AND d_id = %d", w, d)
   row("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = %d AND ol_d_id = %d AND ol_o_id < %d AND ol_o_id >= %d AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < %d",
      w, d, o, o - 20, uniform(10, 20))
   con:query("COMMIT")
end

function thread_init()
   con = sysbench.sql.driver():connect()
end

function thread_done()
   con:disconnect()
end

function event()
   local w, kind = uniform(1, sysbench.opt.warehouses), uniform(1, 100)
   -- The shares of clause 5.2.3.
   if kind <= 45 then new_order(w)
   elseif kind <= 88 then payment(w)
   elseif kind <= 92 then order_status(w)
   elseif kind <= 96 then delivery(w)
   else stock_level(w) end
end

-- After 1205 the transaction is still open, and a BEGIN would commit what it has done.
function sysbench.hooks.before_restart_event()
   con:query("ROLLBACK")
end

-- Consistency -----------------------------------------------------------------------------------------------------------------------------------------

-- Clause 3.3.2: each has no row where the tables agree.
local CONDITIONS = {
   {"1", "SELECT w_id FROM warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)"},
   {"2, orders", "SELECT d_w_id FROM district WHERE d_next_o_id - 1 <> (SELECT MAX(o_id) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)"},
   {"2, new orders", "SELECT d_w_id FROM district WHERE d_next_o_id - 1 < (SELECT MAX(no_o_id) FROM new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)"},
   {"3", "SELECT no_w_id FROM new_order GROUP BY no_w_id, no_d_id HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)"},
   {"4", [[SELECT a.w FROM (SELECT o_w_id w, o_d_id d, SUM(o_ol_cnt) n FROM orders GROUP BY o_w_id, o_d_id) a
      JOIN (SELECT ol_w_id w, ol_d_id d, COUNT(*) n FROM order_line GROUP BY ol_w_id, ol_d_id) b ON a.w = b.w AND a.d = b.d WHERE a.n <> b.n]]},
   {"5", [[SELECT o_w_id FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
      WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)]]},
   {"6", [[SELECT o_w_id FROM orders LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) n FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) l
      ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE NOT o_ol_cnt <=> n]]},
   {"7", [[SELECT o_w_id FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
      WHERE (o_carrier_id IS NULL) <> (ol_delivery_d IS NULL)]]},
   {"8", "SELECT w_id FROM warehouse WHERE w_ytd <> (SELECT SUM(h_amount) FROM history WHERE h_w_id = w_id)"},
   {"9", "SELECT d_w_id FROM district WHERE d_ytd <> (SELECT SUM(h_amount) FROM history WHERE h_w_id = d_w_id AND h_d_id = d_id)"},
   {"10", [[SELECT c_w_id FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) bought FROM orders JOIN order_line
      ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) b
      ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
      JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) paid FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) h
      ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id WHERE c_balance <> IFNULL(bought, 0) - paid]]},
   {"12", [[SELECT c_w_id FROM customer LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) bought FROM orders JOIN order_line
      ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) b
      ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id WHERE c_balance + c_ytd_payment <> IFNULL(bought, 0)]]},
}

local function check()
   local connection = sysbench.sql.driver():connect()
   for _, condition in ipairs(CONDITIONS) do
      local rs = connection:query(condition[2])
      assert(rs.nrows == 0, string.format("TPC-C's consistency condition %s does not hold for %d rows", condition[1], tonumber(rs.nrows)))
      rs:free()
   end
   print(string.format("%d consistency conditions hold", #CONDITIONS))
end

sysbench.cmdline.commands = {
   prepare = {prepare},
   cleanup = {cleanup},
   check = {check},
}
