// The operations that list and stream the events of a machine.
import type { machineHistoryOperations } from '../../contract/machine-history.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Sql } from '../storage/storage.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { RecheckToken } from '../tokens/recheck-token.ts';
import type { EventFollowers } from './event-followers.ts';
import { findMachineFor } from './records/find-machine.ts';
import { createMachineHistory } from './records/machine-history.ts';
import type { MachineStore } from './records/machine-store.ts';

export interface HistoryHandlerDeps {
  readonly storage: Sql;
  readonly machines: MachineStore;
  /** Undefined where no platform runs: nothing comes then. */
  readonly followers: EventFollowers | undefined;
  readonly recheck: RecheckToken | undefined;
}

export function createHistoryHandlers(deps: HistoryHandlerDeps): Handlers<typeof machineHistoryOperations, Principal> {
  const { machines, followers, recheck } = deps;
  const history = createMachineHistory(deps.storage);
  return {
    async listMachineEvents({ principal, params, query }) {
      const { id } = await findMachineFor(principal, params, machines);
      return [...(await history.list(id, query.limit))];
    },
    async followMachineEvents({ principal, params, query }, sink) {
      const { id } = await findMachineFor(principal, params, machines);
      sink.open();
      if (!query.follow || followers === undefined || recheck === undefined || !isCaller(principal)) {
        for (const event of await history.listAfter(id, query.after)) sink.send(event);
        sink.end();
        return;
      }
      await followers.follow(id, query.after, sink, async () => void (await recheck(principal)));
    },
  };
}
