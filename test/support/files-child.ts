// The file operations in a process that can be killed. Argument: the socket to serve on.
import { flushCompileCache } from 'node:module';
import { createEdge } from '../../src/http/edge.ts';
import { listenOnPath } from '../../src/http/listen-on-path.ts';
import { mapFileError } from '../../src/supervisor/files/file-error.ts';
import { createFileHandlers } from '../../src/supervisor/files/file-handlers.ts';
import { rawFileOperations } from '../../src/supervisor/files/raw-file-operations.ts';
import { ownRights } from '../../src/supervisor/files/tree/rights.ts';
import { silentLog } from './silent-log.ts';

const edge = createEdge({
  operations: rawFileOperations,
  handlers: createFileHandlers(ownRights),
  authenticate: () => undefined,
  mapError: mapFileError,
  log: silentLog,
});
await listenOnPath(edge.createServer('supervisor'), { path: process.argv[2] ?? '', mode: 0o600 });
// It is killed, and would compile all of this at each start.
flushCompileCache();
console.log('listening');
