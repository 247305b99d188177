// The machine whose own agent calls, and no copy of it: for what only the incarnation that is served may have.
import type { IncomingHttpHeaders } from 'node:http';
import { RemoraError } from '../../../core/remora-error.ts';
import type { Fencing } from '../../fencing/fencing.ts';
import type { IncarnationStore } from '../../fencing/incarnation-store.ts';
import { judgeIncarnation } from '../../fencing/judge-incarnation.ts';
import type { ClaimedIncarnation } from '../../fencing/known-incarnation.ts';
import { parseIncarnationHeaders } from '../../fencing/parse-incarnation-headers.ts';
import type { Principal } from '../../tokens/principal.ts';
import { findMachineFor, type MachinePath } from '../records/find-machine.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';

export interface ServedMachineDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly incarnations: Pick<IncarnationStore, 'load'>;
  readonly fencing: Pick<Fencing, 'admit'>;
}

export interface ServedMachine {
  readonly machine: MachineRow;
  readonly claimed: ClaimedIncarnation;
}

/**
 * Finds the machine and the incarnation that its nonce proves to be the one that is served. Throws what `findMachineFor`,
 * `parseIncarnationHeaders` and `Fencing.admit` throw, `forbidden` for another token than that of the machine, and `not_ready` before a
 * nonce is confirmed.
 */
export async function findServedMachine(
  principal: Principal,
  params: MachinePath,
  headers: IncomingHttpHeaders,
  { machines, incarnations, fencing }: ServedMachineDeps,
): Promise<ServedMachine> {
  const machine = await findMachineFor(principal, params, machines);
  const known = checkToken(principal, machine);
  const claimed = parseIncarnationHeaders(headers);
  if (claimed !== undefined) await fencing.admit(machine.sprite_id, known, claimed);
  if (claimed?.nonce === undefined) throw needsReport();
  const now = (await incarnations.load(machine.sprite_id))?.known;
  if (now === undefined || judgeIncarnation(now, claimed) !== 'same') throw needsReport();
  return { machine, claimed };
}

/**
 * The known incarnation of the machine of the token. A process in the machine may hold the token of the sprite. Only the agent has that of
 * the machine, but where the machine is run elsewhere. Throws `forbidden`.
 */
function checkToken(principal: Principal, machine: MachineRow) {
  if (principal.type === 'machine') return principal.incarnation;
  if (principal.type === 'sprite' && machine.config.external === true) return principal.incarnation;
  throw new RemoraError('forbidden', 'this takes the token of the machine');
}

function needsReport(): RemoraError {
  return new RemoraError('not_ready', 'the incarnation of this machine has no confirmed nonce; send its report first', {
    retryAfter_ms: 1_000,
  });
}
