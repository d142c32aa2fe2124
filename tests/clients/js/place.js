// Where the server is, and the end of every program.
const env = process.env;
const place = { host: env.CLIENTS_HOST, port: +env.CLIENTS_PORT, user: env.CLIENTS_USER, password: env.CLIENTS_PASSWORD, database: env.CLIENTS_DATABASE };
// The packages are in the cache, not beside the programs.
const need = require("module").createRequire(env.CLIENTS_CACHE + "/js/");
const assert = require("assert");

function run(main) {
  main().then(
    () => process.exit(0),
    (e) => {
      console.error(e.stack || "");
      console.error(String(e.message || e).replace(/\s+/g, " "));
      process.exit(1);
    },
  );
}

async function refused(work, judge) {
  try {
    await work();
  } catch (e) {
    assert(judge(e), `not the error that was expected: ${e.name} ${e.code} ${e.message}`);
    return;
  }
  throw new Error("an error was expected");
}

// An account with the password plugin of MySQL 5.
const oldPlace = { ...place, user: env.CLIENTS_OLD_USER };
const isMariaDb = env.CLIENTS_KIND === "mariadb";

module.exports = { place, oldPlace, isMariaDb, need, run, refused, assert };
