// Whether the process serves.
import type { statusOperations } from '../../contract/local/status.ts';
import type { Handlers } from '../../http/handler.ts';

/** Needs no part, so that it is answered before any is open. */
export const health: Handlers<typeof statusOperations, unknown>['health'] = () => ({ status: 'ok' });
