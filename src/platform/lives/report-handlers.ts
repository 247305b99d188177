// The row by which an agent reports the life that its machine is in.
import type { resumeReportOperations } from '../../contract/resume-reports.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import { findMachineFor } from '../machines/find-machine.ts';
import type { MachineStore } from '../machines/machine-store.ts';
import type { Principal } from '../tokens/principal.ts';
import { judgeLife } from './judge-life.ts';
import type { LifeStore } from './life-store.ts';
import type { Lives } from './lives.ts';
import { parseLifeHeaders } from './parse-life-headers.ts';

export interface ReportHandlerDeps {
  readonly machines: MachineStore;
  readonly lives: Lives;
  readonly store: LifeStore;
  readonly clock: Clock;
  readonly reconnectSpread_ms: number;
  readonly log: { info(fields: object, message: string): void };
}

export function createReportHandlers(deps: ReportHandlerDeps): Handlers<typeof resumeReportOperations, Principal> {
  return {
    async reportResume({ principal, params, body, request }) {
      const machine = await findMachineFor(principal, params, deps.machines);
      const called = parseLifeHeaders(request.headers);
      if (called !== undefined && judgeLife(called, body) !== 'same') {
        throw new RemoraError('invalid_request', 'the body tells of another life than the headers of the call');
      }
      const { generation, incarnation } = body;
      const known = await deps.store.load(machine.sprite_id);
      await deps.lives.admit(machine.sprite_id, known, { generation, incarnation });
      if (body.version !== undefined) await deps.machines.setAgentVersion(machine.id, body.version);
      deps.log.info({ machine: machine.id, ...body }, 'a machine reported the life it is in');
      return {
        server_time: toDateTime(deps.clock.wall_ms()),
        reconnect_spread_ms: (await deps.store.hasSeveral()) ? deps.reconnectSpread_ms : 0,
      };
    },
  };
}
