// The operation with which an agent opens its channel: only the incarnation that is served, which its nonce proves.
import type { channelOperations } from '../../contract/channel.ts';
import type { Log } from '../../core/log.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { IncarnationStore } from '../fencing/incarnation-store.ts';
import { judgeIncarnation } from '../fencing/judge-incarnation.ts';
import type { ClaimedIncarnation } from '../fencing/known-incarnation.ts';
import { parseIncarnationHeaders } from '../fencing/parse-incarnation-headers.ts';
import { findMachineFor, type MachinePath } from '../machines/records/find-machine.ts';
import type { MachineRow, MachineStore } from '../machines/records/machine-store.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';
import type { Channels } from './channels.ts';

export interface ChannelHandlerDeps {
  readonly channels: Pick<Channels, 'admit' | 'attach'>;
  readonly machines: MachineStore;
  readonly incarnations: Pick<IncarnationStore, 'load'>;
  readonly log: Pick<Log, 'warn'>;
}

/** What an agent never does: it asks for its own machine, with its own token. */
const AUDITED: readonly string[] = ['forbidden', 'not_found'];

export function createChannelHandlers(deps: ChannelHandlerDeps): Handlers<typeof channelOperations, Principal> {
  async function findOwn(principal: Principal, params: MachinePath): Promise<MachineRow> {
    try {
      const machine = await findMachineFor(principal, params, deps.machines);
      checkToken(principal, machine);
      return machine;
    } catch (error) {
      if (error instanceof RemoraError && AUDITED.includes(error.code)) {
        const token = isCaller(principal) ? principal.token.id : 'operator';
        const audit = { audit: 'channel_refused', machine: params.machine_id, token, code: error.code };
        deps.log.warn(audit, 'a channel was asked for without the token of its machine');
      }
      throw error;
    }
  }

  return {
    async openChannel({ principal, params, request, upgrade }) {
      if (upgrade === undefined) throw new Error('the channel was not asked for by an upgrade');
      const machine = await findOwn(principal, params);
      const claimed = parseIncarnationHeaders(request.headers);
      if (claimed?.nonce === undefined) throw needsReport();
      await checkServed(machine.sprite_id, claimed, deps.incarnations);
      deps.channels.admit(machine.id);
      upgrade.accept([]);
      deps.channels.attach({
        machine_id: machine.id,
        sprite_id: machine.sprite_id,
        incarnation: { generation: claimed.generation, incarnation: claimed.incarnation },
        socket: upgrade.socket,
      });
    },
  };
}

/** A process in the machine may hold the token of the sprite. Only the agent has that of the machine, but where the machine is run elsewhere. */
function checkToken(principal: Principal, machine: MachineRow): void {
  if (principal.type === 'machine') return;
  if (principal.type === 'sprite' && machine.config.external === true) return;
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
