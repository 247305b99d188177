// The replication part of an agent in a process of its own, so that it can be killed:
// `replication-child.ts SOCKET STATE_DIR NODE_URL`.
import { flushCompileCache } from 'node:module';
import { serveReplication } from './serve-replication.ts';

await serveReplication(process.argv.slice(2));
// It is killed, and would compile all of this at each start.
flushCompileCache();
console.log('started');
