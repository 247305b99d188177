// A process with a database of its own: `open` says how that went, `write` commits row after row until it is killed, or as many as it is told and
// waits then.
import { flushCompileCache } from 'node:module';
import { openDatabase, openDatabaseOrMemory } from '../../src/sqlite/open.ts';

// It is killed, and would compile all of this at each start.
flushCompileCache();
const [path = '', task, most = 'Infinity'] = process.argv.slice(2);
const migrations = ['CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT'];
const insert = 'INSERT INTO notes (text) VALUES (?)';

if (task === 'write') {
  const { db } = openDatabase(path, { migrations });
  const statement = db.prepare(insert);
  for (let n = 1; ; n += 1) {
    statement.run('x'.repeat(200));
    if (n % 50 === 0) {
      console.log(`written ${n}`);
      await new Promise((resolve) => setTimeout(resolve, n < Number(most) ? 5 : 600_000));
    }
  }
} else {
  const { db, state, reason } = openDatabaseOrMemory(path, { migrations });
  const { changes } = db.prepare(insert).run('x');
  console.log(JSON.stringify({ state, reason, rows: changes }));
}
