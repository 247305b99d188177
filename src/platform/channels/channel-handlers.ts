// The operations with which an agent opens its channel and its lanes: only the incarnation that is served, which its nonce proves.
import type { IncomingHttpHeaders } from 'node:http';
import type { channelOperations } from '../../contract/channel.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Fencing } from '../fencing/fencing.ts';
import type { IncarnationStore } from '../fencing/incarnation-store.ts';
import { judgeIncarnation } from '../fencing/judge-incarnation.ts';
import type { ClaimedIncarnation } from '../fencing/known-incarnation.ts';
import { parseIncarnationHeaders } from '../fencing/parse-incarnation-headers.ts';
import { findMachineFor, type MachinePath } from '../machines/records/find-machine.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { Channels } from './channels.ts';

export interface ChannelHandlerDeps {
  readonly channels: Pick<Channels, 'admit' | 'attach' | 'find'>;
  readonly machines: MachineStore;
  readonly incarnations: Pick<IncarnationStore, 'load'>;
  readonly fencing: Pick<Fencing, 'admit'>;
  readonly log: Pick<Log, 'warn' | 'debug'>;
}

/** What the agent of the machine that is served never gets. */
const AUDITED = {
  forbidden: 'a channel was asked for without the token of its machine',
  not_found: 'a channel was asked for without the token of its machine',
  incarnation_conflict: 'a channel was asked for by another copy of a machine than the one that is served',
  rewound: 'a channel was asked for by an older copy of a machine than the one that is served',
} as const;

export function createChannelHandlers(deps: ChannelHandlerDeps): Handlers<typeof channelOperations, Principal> {
  const { machines, incarnations, fencing } = deps;

  /** The machine and the incarnation that its nonce proves to be the one that is served. */
  async function judge(principal: Principal, params: MachinePath, headers: IncomingHttpHeaders) {
    const machine = await findMachineFor(principal, params, machines);
    const known = checkToken(principal, machine);
    const claimed = parseIncarnationHeaders(headers);
    if (claimed !== undefined) await fencing.admit(machine.sprite_id, known, claimed);
    if (claimed?.nonce === undefined) throw needsReport();
    await checkServed(machine.sprite_id, claimed, incarnations);
    return { machine, claimed };
  }

  function audit(error: unknown, principal: Principal, { machine_id }: MachinePath): void {
    if (!(error instanceof RemoraError) || !(error.code in AUDITED)) return;
    const token = isCaller(principal) ? principal.token.id : 'operator';
    const fields = { audit: 'channel_refused', machine: machine_id, token, code: error.code };
    deps.log.warn(fields, AUDITED[error.code as keyof typeof AUDITED]);
  }

  async function judgeOrAudit(principal: Principal, params: MachinePath, headers: IncomingHttpHeaders) {
    return await judge(principal, params, headers).catch((error: unknown) => {
      audit(error, principal, params);
      throw error;
    });
  }

  return {
    async openChannel({ principal, params, request, upgrade }) {
      if (upgrade === undefined) throw new Error('the channel was not asked for by an upgrade');
      const { machine, claimed } = await judgeOrAudit(principal, params, request.headers);
      deps.channels.admit(machine.id);
      upgrade.accept([]);
      deps.channels.attach({
        machine_id: machine.id,
        sprite_id: machine.sprite_id,
        incarnation: { generation: claimed.generation, incarnation: claimed.incarnation },
        socket: upgrade.socket,
      });
    },
    async openLane({ principal, params, request, upgrade }) {
      if (upgrade === undefined) throw new Error('the lane was not asked for by an upgrade');
      const { machine } = await judgeOrAudit(principal, params, request.headers);
      const attach = deps.channels.find(machine.id)?.lanes.take(params.lane_id);
      if (attach === undefined) throw new RemoraError('not_found', 'this platform process has asked for no such lane');
      upgrade.accept([]);
      attach(upgrade.socket);
      deps.log.debug({ machine: machine.id }, 'a lane of the channel of a machine is open');
    },
  };
}

/**
 * The known incarnation of the machine of the token. A process in the machine may hold the token of the sprite. Only the agent has that of
 * the machine, but where the machine is run elsewhere. Throws `forbidden`.
 */
function checkToken(principal: Principal, machine: MachineRow) {
  if (principal.type === 'machine') return principal.incarnation;
  if (principal.type === 'sprite' && machine.config.external === true) return principal.incarnation;
  throw new RemoraError('forbidden', 'the channel takes the token of this machine');
}

async function checkServed(
  sprite_id: string,
  claimed: ClaimedIncarnation,
  incarnations: Pick<IncarnationStore, 'load'>,
): Promise<void> {
  const known = (await incarnations.load(sprite_id))?.known;
  if (known === undefined || judgeIncarnation(known, claimed) !== 'same') throw needsReport();
}

function needsReport(): RemoraError {
  return new RemoraError('not_ready', 'the incarnation of this machine has no confirmed nonce; send its report first', {
    retryAfter_ms: 1_000,
  });
}
