// The states of a machine that suspends itself and is resumed (design.md, section 4), as one total transition table.
//
//   awake ──ask──▶ preparing ──accepted──▶ fenced ──wake──▶ resuming ──done──▶ awake
//     ▲                │ refused              │ interrupted (no gap within 15 s of run time)
//     └────────────────┴──────────────────────┘
//
// A wake signal leads to resuming from everywhere: the machine may be suspended from outside, the platform's answer may be
// lost in the snapshot, and a second resume in the middle of a first one starts it over.

/** `preparing`: asked, no answer yet. `fenced`: accepted, the freeze is near. `resuming`: recovery is under way. */
export type SuspendState = 'awake' | 'preparing' | 'fenced' | 'resuming';

/**
 * `ask`: somebody wants to suspend. `refused`: held, not eligible, refused, failed or cancelled. `accepted`: the platform took it.
 * `wake`: a resume was noticed. `interrupted`: accepted, and nothing happened. `done`: recovery is complete.
 */
export type SuspendEvent = 'ask' | 'refused' | 'accepted' | 'wake' | 'interrupted' | 'done';

/** What an event does not concern, it leaves as it is: answers come late, twice, or after a resume. */
export const suspendTable: Readonly<Record<SuspendState, Readonly<Record<SuspendEvent, SuspendState>>>> = {
  awake: {
    ask: 'preparing',
    refused: 'awake',
    accepted: 'awake',
    wake: 'resuming',
    interrupted: 'awake',
    done: 'awake',
  },
  preparing: {
    ask: 'preparing',
    refused: 'awake',
    accepted: 'fenced',
    wake: 'resuming',
    interrupted: 'preparing',
    done: 'preparing',
  },
  fenced: {
    ask: 'fenced',
    refused: 'fenced',
    accepted: 'fenced',
    wake: 'resuming',
    interrupted: 'awake',
    done: 'fenced',
  },
  resuming: {
    ask: 'resuming',
    refused: 'resuming',
    accepted: 'resuming',
    wake: 'resuming',
    interrupted: 'resuming',
    done: 'awake',
  },
};

/** The state after `event`. Total: every pair has an answer, and an event out of place changes nothing. */
export function transition(state: SuspendState, event: SuspendEvent): SuspendState {
  return suspendTable[state][event];
}
