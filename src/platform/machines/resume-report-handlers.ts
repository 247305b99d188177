// The operation with which an agent sends a resume report: the incarnation that its machine is in.
import type { MachineIncarnation, resumeReportOperations } from '../../contract/resume-reports.ts';
import { type Clock, toDateTime } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Fencing } from '../fencing/fencing.ts';
import type { IncarnationStore } from '../fencing/incarnation-store.ts';
import { parseIncarnationHeaders } from '../fencing/parse-incarnation-headers.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { MachineService } from './moves/machine-service.ts';
import { findMachineFor } from './records/find-machine.ts';
import type { MachineStore } from './records/machine-store.ts';

export interface ResumeReportHandlerDeps {
  readonly machines: MachineStore;
  readonly machineService: Pick<MachineService, 'reported'>;
  readonly fencing: Fencing;
  readonly store: IncarnationStore;
  /** Records the ports of a machine that was replaced as closed. */
  readonly endPorts: (sprite_id: string, ended: string) => Promise<void>;
  readonly clock: Clock;
  readonly reconnectSpread_ms: number;
  /** The URLs of the ports of a sprite, with `{port}`; null where its name is too long, undefined where nothing serves them. */
  readonly toPortTemplate: (organization: string, sprite: string) => string | null | undefined;
  readonly log: Log;
}

export function createResumeReportHandlers(
  deps: ResumeReportHandlerDeps,
): Handlers<typeof resumeReportOperations, Principal> {
  return {
    async reportResume({ principal, params, body, request }) {
      const machine = await findMachineFor(principal, params, deps.machines);
      const called = parseIncarnationHeaders(request.headers);
      const { generation, incarnation, new_installation: isNewInstallation = false } = body;
      if (called !== undefined && (called.generation !== generation || called.incarnation !== incarnation)) {
        throw new RemoraError('invalid_request', 'the body names another incarnation than the headers of the call');
      }
      const { replaced, ...taken } = await deps.fencing.report(machine.sprite_id, {
        claimed: { generation, incarnation, nonce: called?.nonce },
        isNewInstallation,
        isExternal: machine.config.external === true,
        now_ms: deps.clock.wall_ms(),
      });
      if (replaced !== undefined) {
        const audit = {
          machine: machine.id,
          token: isCaller(principal) ? principal.token.id : null,
          from: toIncarnation(replaced),
          to: taken.generation,
        };
        await deps.endPorts(machine.sprite_id, replaced.incarnation);
        deps.log.info({ audit: 'machine_taken_over', ...audit, incarnation }, 'a machine took the place of another');
      }
      if (body.version !== undefined) await deps.machines.setAgentVersion(machine.id, body.version);
      // Only a report with the token of this machine comes from the instance that the platform started; one with a sprite's token may not.
      const isOfInstance = principal.type === 'machine';
      const isFirst = body.reason === 'start' && taken.nonce !== undefined;
      if (isOfInstance || machine.config.external === true) {
        await deps.machineService.reported(machine.id);
      }
      deps.log.info({ machine: machine.id, ...body }, 'a machine reported the incarnation it is in');
      const port_address = isCaller(principal)
        ? deps.toPortTemplate(principal.organization.slug, machine.sprite)
        : undefined;
      if (port_address === null) {
        deps.log.info({ machine: machine.id }, 'the name of the sprite is too long for URLs of its ports');
      }
      return {
        server_time: toDateTime(deps.clock.wall_ms()),
        ...taken,
        ...(isOfInstance && isFirst && machine.boot_cause !== null ? { cold_start: machine.boot_cause } : {}),
        ...(port_address === undefined ? {} : { port_address }),
        reconnect_spread_ms: (await deps.store.hasSeveral()) ? deps.reconnectSpread_ms : 0,
      };
    },
  };
}

function toIncarnation({ generation, incarnation }: MachineIncarnation): MachineIncarnation {
  return { generation, incarnation };
}
