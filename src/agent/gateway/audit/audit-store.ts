// Answers the requests to the log of calls from its file, which it opens when it is needed.
import { toErrorMessage } from '../../../core/error-message.ts';
import type { OpenedDatabase } from '../../../sqlite/open.ts';
import { mayHeal } from '../../../sqlite/storage-failure.ts';
import type { RequestStore } from '../../database-thread/serve-requests.ts';
import type { AuditAnswer, AuditRequest } from './audit-request.ts';
import { type AuditLimits, type AuditTable, openAuditTable } from './audit-table.ts';

/** A failed request may be repeated: the file is opened again then, unless the failure can pass by itself. */
export type AuditStore = RequestStore<AuditRequest, AuditAnswer>;

export function createAuditStore(open: () => OpenedDatabase, limits: AuditLimits): AuditStore {
  let opened: OpenedDatabase | undefined;
  let table: AuditTable | undefined;

  function need(): AuditTable {
    opened ??= open();
    table ??= openAuditTable(opened.db, limits);
    return table;
  }

  function close(): void {
    opened?.db.close();
    opened = undefined;
    table = undefined;
  }

  function answer(request: AuditRequest): AuditAnswer {
    switch (request.type) {
      case 'write': {
        need().write(request.parts);
        return { type: 'written', problem: opened?.state === 'memory' ? opened.reason : undefined };
      }
      case 'page':
        return { type: 'page', records: need().page(request.limit, request.after) };
      default:
        return request satisfies never;
    }
  }

  return {
    answer(request) {
      try {
        return answer(request);
      } catch (error) {
        if (!mayHeal(error)) close();
        return { type: 'failed', message: toErrorMessage(error) };
      }
    },
    [Symbol.dispose]: close,
  };
}
