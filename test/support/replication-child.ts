// The replication part of an agent in a process of its own, so that it can be killed:
// `replication-child.ts SOCKET STATE_DIR NODE_URL`.
import { serveReplication } from './serve-replication.ts';

await serveReplication(process.argv.slice(2));
console.log('started');
