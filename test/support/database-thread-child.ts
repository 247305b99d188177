// A store in a thread: it counts what it is asked, and dies or hangs on request.
import { serveRequests } from '../../src/agent/database-thread/serve-requests.ts';

interface Request {
  readonly dies?: boolean;
  readonly hangs?: boolean;
  readonly isMemory?: boolean;
}

let asked = 0;

serveRequests({
  answer({ dies, hangs, isMemory }: Request) {
    if (dies === true) throw new Error('no disk');
    while (hangs === true);
    asked += 1;
    return isMemory === undefined ? { asked } : { asked, isMemory };
  },
  [Symbol.dispose]: () => undefined,
});
