// The half of a database thread that runs in the thread: answers requests one after the other, until it is asked to close.
import { parentPort } from 'node:worker_threads';

export interface RequestStore<Request, Answer> extends Disposable {
  /** Never throws: a failure is an answer too. */
  answer(request: Request): Answer;
}

export function serveRequests<Request, Answer>(store: RequestStore<Request, Answer>): void {
  parentPort?.on('message', (request: Request | 'close') => {
    if (request !== 'close') {
      parentPort?.postMessage(store.answer(request));
      return;
    }
    store[Symbol.dispose]();
    parentPort?.close();
  });
}
