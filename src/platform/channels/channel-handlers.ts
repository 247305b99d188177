// The operations with which an agent opens its channel and its lanes: only the incarnation that is served, which its nonce proves.
import type { IncomingHttpHeaders } from 'node:http';
import { type channelOperations, PROGRAMS_RESTRICTED_HEADER, RESTRICTED_HEADER } from '../../contract/channel.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { KnownIncarnation } from '../fencing/known-incarnation.ts';
import { findServedMachine, type ServedMachineDeps } from '../machines/access/served-machine.ts';
import type { MachinePath } from '../machines/records/find-machine.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { RecheckToken } from '../tokens/recheck-token.ts';
import type { Channels } from './channels.ts';

export interface ChannelHandlerDeps extends ServedMachineDeps {
  readonly channels: Pick<Channels, 'admit' | 'attach' | 'find'>;
  readonly recheck: RecheckToken;
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
  function audit(error: unknown, principal: Principal, { machine_id }: MachinePath): void {
    if (!(error instanceof RemoraError) || !(error.code in AUDITED)) return;
    const token = isCaller(principal) ? principal.token.id : 'operator';
    const fields = { audit: 'channel_refused', machine: machine_id, token, code: error.code };
    deps.log.warn(fields, AUDITED[error.code as keyof typeof AUDITED]);
  }

  async function judgeOrAudit(principal: Principal, params: MachinePath, headers: IncomingHttpHeaders) {
    return await findServedMachine(principal, params, headers, deps).catch((error: unknown) => {
      audit(error, principal, params);
      throw error;
    });
  }

  async function readKnown(principal: Principal): Promise<KnownIncarnation | undefined> {
    if (!isCaller(principal)) return undefined;
    const now = await deps.recheck(principal);
    return now.type === 'organization' ? undefined : now.incarnation;
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
        readKnown: () => readKnown(principal),
        restricted: {
          network: request.headers[RESTRICTED_HEADER] !== undefined,
          programs: request.headers[PROGRAMS_RESTRICTED_HEADER] !== undefined,
        },
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
