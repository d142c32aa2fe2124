"""aiomysql: a pool, transactions, streaming cursors."""
import asyncio

import aiomysql
import pymysql
from place import DATABASE, HOST, PASSWORD, PORT, USER


async def main():
    pool = await aiomysql.create_pool(host=HOST, port=PORT, user=USER, password=PASSWORD, db=DATABASE, minsize=2, maxsize=8, charset="utf8mb4")

    async def run(sql, *args):
        async with pool.acquire() as conn, conn.cursor() as cur:
            try:
                await cur.execute(sql, args)
            except pymysql.err.MySQLError:
                await conn.rollback()
                raise
            await conn.commit()
            return await cur.fetchall()

    await run("CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, n INT UNIQUE, s VARCHAR(20))")
    await asyncio.gather(*(run("INSERT INTO a (n, s) VALUES (%s, %s)", n, f"s{n}") for n in range(40)))
    assert (await run("SELECT COUNT(*), SUM(n) FROM a"))[0] == (40, 780)
    try:
        await run("INSERT INTO a (n) VALUES (3)")
        raise AssertionError("a duplicate was taken")
    except pymysql.err.IntegrityError as e:
        assert e.args[0] == 1062
    async with pool.acquire() as conn:
        async with conn.cursor(aiomysql.SSDictCursor) as cur:
            await cur.execute("SELECT n, s FROM a ORDER BY n")
            assert [r["n"] async for r in cur] == list(range(40))
        await conn.begin()
        async with conn.cursor() as cur:
            await cur.execute("DELETE FROM a")
        await conn.rollback()
    assert (await run("SELECT COUNT(*) FROM a"))[0][0] == 40
    await run("DROP TABLE a")
    pool.close()
    await pool.wait_closed()


asyncio.run(main())
