// What a row becomes after its step was tried. Pure; secrets and names of apps are handled by who writes it.
//
//   requested → provisioning ─ config, and not `provisioning` at the provider → ready ⇄ updating
//                     └─ refused, or too long → failed ─ retry → provisioning          any → deleting → deleted

import type { ExtensionRow } from './extension-row.ts';
import type { ExtensionChange } from './extension-store.ts';
import type { Again } from './judge-answer.ts';
import type { StepOutcome } from './step-outcome.ts';
import { type StepTimes, toWait } from './step-times.ts';

export interface Settling {
  /** The row as it is now, locked. */
  readonly row: ExtensionRow;
  /** The row as it was when the step was claimed. */
  readonly claimed: ExtensionRow;
  readonly outcome: StepOutcome;
  readonly now_ms: number;
  readonly times: StepTimes;
}

/** How often a status that cannot be read is asked for before an extension with its config counts as ready. */
const READS_MAX = 5;
export const PROVISIONING = 'provisioning';

export const idle = { step: null, due_at: null, tries: 0 } as const;
export const untroubled = { error: null, trouble_since: null } as const;

/** Every change that does not name `claim` gives it back. */
export function settleStep(settling: Settling): ExtensionChange {
  const { row, claimed, outcome } = settling;
  const released = { claim: null, claim_until: null };
  // Meanwhile somebody wants something else of it, or a webhook has settled it.
  if (row.step !== claimed.step) {
    const known = outcome.type === 'provisioned' ? { provider_id: outcome.answer.provider_id } : {};
    return { ...released, ...known, ...(row.step === null ? {} : { tries: 0 }) };
  }
  return { ...released, ...settle(settling) };
}

function settle(settling: Settling): ExtensionChange {
  const { row, claimed, outcome, now_ms } = settling;
  switch (outcome.type) {
    case 'provisioned': {
      const { provider_id, status = row.status } = outcome.answer;
      const told = { provider_id, status, told_revision: claimed.revision, ...untroubled };
      const next = { step: 'read', due_at: now_ms, tries: 0 } as const;
      if (row.state === 'deleting') return { provider_id, step: 'delete', due_at: now_ms, tries: 0 };
      const isKnown = status !== null && status !== PROVISIONING;
      return isKnown
        ? { ...told, ...toReady({ ...row, told_revision: claimed.revision }, now_ms) }
        : { ...told, ...next };
    }
    case 'read':
      return settleRead(settling, outcome);
    case 'missing':
      return settleMissing(settling, outcome.message);
    case 'updated':
      return {
        ...untroubled,
        told_revision: claimed.revision,
        ...toReady({ ...row, told_revision: claimed.revision }, now_ms),
      };
    case 'deleted':
      return { ...idle, ...untroubled, state: 'deleted', config: null, variables: [], resource: null };
    case 'again':
      return settleAgain(settling, outcome);
    case 'refused':
      return settleRefused(settling, outcome);
    default:
      return outcome satisfies never;
  }
}

/** A change that came after the one that the provider knows is sent next. */
export function toReady(row: Pick<ExtensionRow, 'revision' | 'told_revision'>, now_ms: number): ExtensionChange {
  if (row.revision === row.told_revision) return { ...idle, ...untroubled, state: 'ready' };
  return { ...untroubled, state: 'updating', step: 'update', due_at: now_ms, tries: 0, begun_at: now_ms };
}

function settleRead(
  settling: Settling,
  { resource, asked_at }: Extract<StepOutcome, { type: 'read' }>,
): ExtensionChange {
  const { row, now_ms, times } = settling;
  // A webhook came after the question: its word is as new, or newer. One of the future came before the clock was set back.
  const isOld = row.heard_at >= asked_at && row.heard_at <= now_ms;
  const status = isOld ? row.status : (resource.status ?? null);
  const facts = isOld ? {} : { status, plan: resource.plan ?? row.plan, resource: resource.resource };
  if (row.state !== 'provisioning') return { ...facts, ...idle, ...untroubled };
  if (status !== PROVISIONING) return { ...facts, ...toReady(row, now_ms) };
  if (now_ms - row.begun_at >= times.whole_ms) {
    return { ...facts, ...toFailed('provision_timeout', 'the provider has not made it ready within a day', now_ms) };
  }
  return { ...facts, ...untroubled, due_at: now_ms + toWait(times, row.tries) };
}

function settleMissing({ row, now_ms }: Settling, message: string): ExtensionChange {
  if (row.state === 'provisioning') return toReady(row, now_ms);
  return { ...idle, error: { code: 'unknown_at_provider', message, at: now_ms } };
}

function settleAgain({ row, now_ms, times }: Settling, again: Again): ExtensionChange {
  const { code, message, isDown } = again;
  const trouble_since = isDown ? (row.trouble_since ?? now_ms) : null;
  const trouble = { error: { code, message, at: now_ms }, trouble_since };
  if (row.step === 'delete' || row.state === 'deleting') {
    return { ...trouble, due_at: now_ms + toWait(times, row.tries, again, times.lastDeleteWait_ms) };
  }
  if (row.step === 'read' && row.status !== PROVISIONING && row.tries >= READS_MAX) return giveUpRead(row, now_ms);
  const isOver =
    now_ms - row.begun_at >= times.whole_ms || (trouble_since !== null && now_ms - trouble_since >= times.down_ms);
  if (isOver && row.step !== 'read') return giveUp(row, code, message, now_ms);
  if (isOver && now_ms - row.begun_at >= times.whole_ms) return giveUp(row, code, message, now_ms);
  return { ...trouble, due_at: now_ms + toWait(times, row.tries, again) };
}

function settleRefused(
  { row, now_ms, times }: Settling,
  { code, message }: { code: string; message: string },
): ExtensionChange {
  const error = { code, message, at: now_ms };
  if (row.state === 'deleting' && row.step === 'provision') {
    // It cannot be found out what the provider calls it: what is removed is what it would have under our id.
    return { error, step: 'delete', due_at: now_ms, tries: 0, asked: false };
  }
  if (row.step === 'delete')
    return { error, due_at: now_ms + toWait(times, row.tries, undefined, times.lastDeleteWait_ms) };
  if (row.step === 'read') return giveUpRead(row, now_ms);
  return giveUp(row, code, message, now_ms);
}

/** The config is there, and nothing says that the resource is not ready. */
function giveUpRead(row: ExtensionRow, now_ms: number): ExtensionChange {
  return row.state === 'provisioning' ? toReady(row, now_ms) : { ...idle, ...untroubled };
}

/** What is ready stays so when a change of it is refused. */
function giveUp(row: ExtensionRow, code: string, message: string, now_ms: number): ExtensionChange {
  if (row.state === 'provisioning') return toFailed(code, message, now_ms);
  return { ...idle, state: 'ready', trouble_since: null, error: { code, message, at: now_ms } };
}

export function toFailed(code: string, message: string, now_ms: number): ExtensionChange {
  return { ...idle, state: 'failed', trouble_since: null, error: { code, message, at: now_ms } };
}
