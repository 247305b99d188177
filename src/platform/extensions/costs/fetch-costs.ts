// Asks one provider for the costs of some days, and writes the answers into the ledger.
import { COSTS_ANSWER_BYTES_MAX, COSTS_ITEMS_MAX } from '../../../contract/extension-costs.ts';
import { parseBoundedJson } from '../../../core/bounded-json.ts';
import { type Clock, toDateTime } from '../../../core/clock.ts';
import { nextSlice } from '../../../core/next-slice.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { ExtensionProvider } from '../../extension-providers/extension-provider.ts';
import type { SignedCall } from '../../provider-calls/signed-call.ts';
import type { Storage } from '../../storage/storage.ts';
import { DAY_MS } from './cost-days.ts';
import { createCostLedger, type LedgerWrite } from './cost-ledger.ts';
import { readCostLines } from './cost-lines.ts';
import { findCostOwners } from './cost-owners.ts';
import { splitItems } from './split-items.ts';

export interface FetchedCosts {
  readonly billed: number;
  /** Kept, and not billed. */
  readonly held: number;
  /** Not kept: they could not be read, or too many are held. */
  readonly refused: number;
}

export interface FetchCostsDeps {
  readonly storage: Storage;
  readonly call: SignedCall;
  readonly clock: Clock;
}

const BILLING_PATH = '/billing';
const DEADLINE_MS = 30_000;
/** Bounds what stands around the items. */
const REST_LENGTH_MAX = 64 * 1024;
/** Lines of one transaction: others wait for it. */
const AT_ONCE = 50;

/** The costs of one day, which begins at `day`. Throws `upstream_failed` with what is wrong with the answer, and what the call throws. */
export async function fetchCosts(
  { storage, call, clock }: FetchCostsDeps,
  provider: ExtensionProvider,
  day: number,
  signal: AbortSignal,
): Promise<FetchedCosts> {
  const asked = { from: day, to: day + DAY_MS };
  const items = await ask(call, provider, asked, signal);
  const { lines, overlapping, malformed } = await readCostLines(items, asked);
  const owners = await findCostOwners(
    storage,
    provider.name,
    [...lines, ...overlapping].map(({ extension_id }) => extension_id),
  );
  const shared = { provider: provider.name, share_bp: provider.revenue_share_bp, now_ms: clock.wall_ms() };
  const writes: LedgerWrite[] = [
    ...lines.map((line) => ({ ...shared, line, owner: owners.get(line.extension_id) })),
    ...overlapping.map((line) => ({ ...shared, line, owner: owners.get(line.extension_id), held: 'overlap' as const })),
  ];
  const counts = { billed: 0, held: 0, full: 0 };
  for (let from = 0; from < writes.length; from += AT_ONCE) {
    await nextSlice();
    await storage.transaction(async (sql) => {
      const ledger = createCostLedger(sql);
      for (const write of writes.slice(from, from + AT_ONCE)) counts[await ledger.write(write)] += 1;
    }, `costs of ${provider.name}`);
  }
  return { billed: counts.billed, held: counts.held, refused: malformed + counts.full };
}

async function ask(
  call: SignedCall,
  provider: ExtensionProvider,
  { from, to }: { readonly from: number; readonly to: number },
  signal: AbortSignal,
): Promise<readonly string[]> {
  const answer = await call(provider, {
    method: 'GET',
    path: BILLING_PATH,
    query: { from: toDateTime(from), to: toDateTime(to) },
    deadline_ms: DEADLINE_MS,
    cap_bytes: COSTS_ANSWER_BYTES_MAX,
    signal,
  });
  if (answer.status !== 200) throw refuse(`it answered ${answer.status} when it was asked for costs`);
  if (answer.text === undefined) throw refuse('its answer is too long');
  const bill = splitItems(answer.text, COSTS_ITEMS_MAX);
  if (bill === undefined) throw refuse('its answer has no list of items');
  if (bill.items.length > COSTS_ITEMS_MAX) throw refuse(`its answer has more than ${COSTS_ITEMS_MAX} items`);
  if (bill.rest.length > REST_LENGTH_MAX || !isJson(bill.rest))
    throw refuse('its answer is no JSON that could be read');
  return bill.items;
}

function isJson(text: string): boolean {
  try {
    parseBoundedJson(text);
    return true;
  } catch {
    return false;
  }
}

function refuse(message: string): RemoraError {
  return new RemoraError('upstream_failed', message);
}
