// What keeps one machine awake, by its record, its traffic and the word of its agent. Pure.
import type { WakeReason } from '../../contract/machine-idle.ts';
import { toDateTime } from '../../core/clock.ts';
import type { MachineRow } from '../machines/records/machine-row.ts';
import type { AgentWord } from './ask-agent.ts';

export interface MachineFacts {
  readonly row: Pick<
    MachineRow,
    'cordoned' | 'role' | 'lease_nonce' | 'lease_expires_at' | 'lease_owner' | 'lease_description'
  >;
  /** Requests, tunnels and calls that are on their way. */
  readonly inFlight: number;
  readonly wall_ms: number;
}

/** What the platform knows by itself; empty when the agent is to be asked. */
export function listKnownReasons({ row, inFlight, wall_ms }: MachineFacts): WakeReason[] {
  const { cordoned, role, lease_nonce, lease_expires_at, lease_owner, lease_description } = row;
  const reasons: WakeReason[] = [];
  if (inFlight > 0) reasons.push({ kind: 'traffic', owner: 'proxy', since: null, reason: `${inFlight} in flight` });
  if (cordoned) {
    reasons.push({ kind: 'cordon', owner: 'cordon', since: null, reason: 'a cordoned machine is left as it is' });
  }
  if (lease_nonce !== null && (lease_expires_at ?? 0) > wall_ms) {
    const until = `until ${toDateTime(lease_expires_at ?? 0)}`;
    const reason = lease_description ? `${lease_description}; ${until}` : until;
    reasons.push({ kind: 'lease', owner: lease_owner ?? 'a lease', since: null, reason });
  }
  if (role === 'primary') {
    const reason = 'its database node is the primary';
    reasons.push({ kind: 'primary', owner: 'metadata.role', since: null, reason });
  }
  return reasons;
}

/** What its agent says, or that it says nothing. */
export function listAgentReasons(word: AgentWord): readonly WakeReason[] {
  if (word.type === 'silent') return [{ kind: 'agent', owner: 'agent', since: null, reason: word.why }];
  return word.blockers;
}

/** The text of a reason in messages and events. */
export function toText({ kind, owner, reason }: WakeReason): string {
  const what = kind === owner ? kind : `${kind} ${owner}`;
  return reason === undefined ? what : `${what} (${reason})`;
}
