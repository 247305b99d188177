// Answers requests for replication.db, one after the other. After a batch that was not written, later ones are refused until one
// repairs it: no transaction may be missing between two rows without a gap row.

import { toErrorMessage } from '../../../core/error-message.ts';
import type { OpenedDatabase } from '../../../sqlite/open.ts';
import { mayHeal } from '../../../sqlite/storage-failure.ts';
import type { RequestStore } from '../../database-thread/serve-requests.ts';
import { type CacheFile, createCacheFile } from './cache-file.ts';
import type { CacheAnswer, CacheRequest, OpenedAnswer } from './cache-request.ts';

export type CacheStore = RequestStore<CacheRequest, CacheAnswer>;

/** `open` does not throw when a database in memory can stand in (openDatabaseOrMemory). */
export function createCacheStore(open: () => OpenedDatabase): CacheStore {
  let file: CacheFile | undefined;
  let opened: OpenedDatabase | undefined;
  let isBroken = false;
  let isFirst = true;

  function close(): void {
    file?.[Symbol.dispose]();
    file = undefined;
    opened = undefined;
  }

  function reopen(): OpenedAnswer {
    const next = open();
    if (next.state === 'memory' && file !== undefined && opened?.state === 'memory' && !isBroken) {
      next.db.close();
      return toOpened(file, opened, true);
    }
    close();
    isBroken = false;
    try {
      file = createCacheFile(next.db);
      opened = next;
      return toOpened(file, next, false);
    } catch (error) {
      if (file === undefined) next.db.close();
      throw error;
    }
  }

  /** Goes on with the file of the thread before. When it is not the same any more, the caller has to open the cache again. */
  function takeUp(): void {
    const { reason, state } = reopen();
    if (state === 'file') return;
    close();
    throw new Error(reason ?? 'replication.db was lost meanwhile');
  }

  function need(): CacheFile {
    if (file === undefined) throw new Error('replication.db is not open');
    return file;
  }

  function answer(request: CacheRequest): CacheAnswer {
    switch (request.type) {
      case 'open':
        return reopen();
      case 'commit': {
        if (isBroken && !request.repairs) throw new Error('an earlier change was not written');
        isBroken = true;
        const begun_ms = performance.now();
        need().commit(request.batch, request.keep);
        isBroken = false;
        return { type: 'done', ms: performance.now() - begun_ms };
      }
      case 'history':
        return need().history(request.db, request.start, request.limit);
      case 'stream':
        return need().stream(request.after, request.limit);
      default:
        return request satisfies never;
    }
  }

  return {
    answer(request) {
      try {
        const mustTakeUp = isFirst && request.type !== 'open';
        isFirst = false;
        if (mustTakeUp) takeUp();
        return answer(request);
      } catch (error) {
        if (!mayHeal(error)) close();
        const message = toErrorMessage(error);
        return { type: 'failed', message, isOpen: file !== undefined };
      }
    },
    [Symbol.dispose]: close,
  };
}

function toOpened(file: CacheFile, { reason, state }: OpenedDatabase, isKept: boolean): OpenedAnswer {
  const known = { positions: file.positions(), facts: file.facts(), last_seq: file.last_seq() };
  return { type: 'opened', state, reason, isKept, ...known };
}
