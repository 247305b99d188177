// The states of the connection to the node as one total table: what each event makes of each state.
//
//   idle ─start▶ waiting ─due▶ connecting ─answered▶ opening ─init▶ following ─silent▶ probing ─probe_ok▶ following
//                  ▲ │fenced▶ held ─due▶                  lost, probe_failed, resumed: back to waiting
import type { FollowerState } from '../../contract/local/replication.ts';

/**
 * `due`: the time to dial has come and dialling is allowed. `fenced`: it has come and a suspend is under way. `answered`: 200.
 * `silent`: nothing was read for too long. `lost`: any end of the connection, clean or not, and any failed attempt.
 */
export const followerEvents = [
  'start',
  'due',
  'fenced',
  'answered',
  'init',
  'silent',
  'probe_ok',
  'probe_failed',
  'lost',
  'resumed',
  'stop',
] as const;
export type FollowerEvent = (typeof followerEvents)[number];

type Row = Readonly<Record<FollowerEvent, FollowerState>>;

const STOP = { stop: 'stopped' } as const;

/** An event that means nothing in a state leaves it as it is. */
export const followerTable: Readonly<Record<FollowerState, Row>> = {
  idle: { ...stay('idle'), start: 'waiting', ...STOP },
  waiting: { ...stay('waiting'), due: 'connecting', fenced: 'held', ...STOP },
  held: { ...stay('held'), due: 'connecting', resumed: 'waiting', ...STOP },
  connecting: { ...stay('connecting'), answered: 'opening', lost: 'waiting', resumed: 'waiting', ...STOP },
  opening: { ...stay('opening'), init: 'following', lost: 'waiting', resumed: 'waiting', ...STOP },
  following: { ...stay('following'), silent: 'probing', lost: 'waiting', resumed: 'waiting', ...STOP },
  probing: {
    ...stay('probing'),
    probe_ok: 'following',
    probe_failed: 'waiting',
    lost: 'waiting',
    resumed: 'waiting',
    ...STOP,
  },
  stopped: stay('stopped'),
};

export function nextFollowerState(state: FollowerState, event: FollowerEvent): FollowerState {
  return followerTable[state][event];
}

function stay(state: FollowerState): Row {
  return {
    start: state,
    due: state,
    fenced: state,
    answered: state,
    init: state,
    silent: state,
    probe_ok: state,
    probe_failed: state,
    lost: state,
    resumed: state,
    stop: state,
  };
}
