// The states of a machine that suspends itself and is resumed, as one total transition table.
//
//   awake ──ask──▶ preparing ──accepted──▶ fenced ──resume──▶ resuming ──done──▶ awake
//     ▲                │ refused              │ interrupted (no gap within 15 s of run time)
//     └────────────────┴──────────────────────┘
//
// A sign of a resume leads to resuming from every state: the machine may be suspended from outside, the platform's answer may be
// lost in the snapshot, and a second resume in the middle of a first one starts it over.

/** `preparing`: asked, no answer yet. `fenced`: accepted, the freeze is near. `resuming`: recovery is under way. */
export type SuspendState = 'awake' | 'preparing' | 'fenced' | 'resuming';

/**
 * `ask`: a suspend is asked for. `refused`: held, not eligible, refused, failed or cancelled. `accepted`: the platform agreed.
 * `resume`: a resume was noticed. `interrupted`: accepted, and nothing happened. `done`: recovery is complete.
 */
export type SuspendEvent = 'ask' | 'refused' | 'accepted' | 'resume' | 'interrupted' | 'done';

/** An event out of place leaves the state as it is: answers come late, twice, or after a resume. */
export const suspendTable: Readonly<Record<SuspendState, Readonly<Record<SuspendEvent, SuspendState>>>> = {
  awake: {
    ask: 'preparing',
    refused: 'awake',
    accepted: 'awake',
    resume: 'resuming',
    interrupted: 'awake',
    done: 'awake',
  },
  preparing: {
    ask: 'preparing',
    refused: 'awake',
    accepted: 'fenced',
    resume: 'resuming',
    interrupted: 'preparing',
    done: 'preparing',
  },
  fenced: {
    ask: 'fenced',
    refused: 'fenced',
    accepted: 'fenced',
    resume: 'resuming',
    interrupted: 'awake',
    done: 'fenced',
  },
  resuming: {
    ask: 'resuming',
    refused: 'resuming',
    accepted: 'resuming',
    resume: 'resuming',
    interrupted: 'resuming',
    done: 'awake',
  },
};

/** The state after `event`. Total: every pair has an answer, and an event out of place changes nothing. */
export function transition(state: SuspendState, event: SuspendEvent): SuspendState {
  return suspendTable[state][event];
}
