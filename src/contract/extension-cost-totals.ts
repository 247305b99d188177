// What extensions have cost, as the platform tells it: to an organization of each of its extensions, to the operator in sums.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryClamped } from './query-values.ts';
import { dateTime } from './time.ts';

const day = z.iso.date();
/** A whole number of the smallest units of the currency; less than zero is a credit. */
const amount = z.int();
const currency = z.string();

export const extensionCost = z.object({
  id: z.string(),
  from: dateTime,
  to: dateTime,
  amount,
  currency,
  description: z.string(),
});
export type ExtensionCost = z.infer<typeof extensionCost>;

/** The oldest first; `next` is the `after` of the page that follows. `totals` are of all pages. */
export const extensionCostsAnswer = z.object({
  items: z.array(extensionCost),
  totals: z.array(z.object({ currency, amount })),
  next: z.string().optional(),
});
export type ExtensionCostsAnswer = z.infer<typeof extensionCostsAnswer>;

const COSTS_PAGE = 500;

/** First and last day on which a cost begins; all when absent. */
const days = { since: day.optional(), until: day.optional() };

export const extensionCostsRequest = z.object({
  ...days,
  after: queryClamped(0, Number.MAX_SAFE_INTEGER).default(0),
  limit: queryClamped(1, COSTS_PAGE).default(COSTS_PAGE),
});

/** `share`: what the operator keeps of `amount`; `payout`: the rest, which is the provider's. */
export const costTotal = z.object({
  provider: z.string(),
  organization: z.string(),
  currency,
  items: z.int().nonnegative(),
  amount,
  share: amount,
  payout: amount,
});
export type CostTotal = z.infer<typeof costTotal>;

/** Costs that are not billed. `unknown_extension`: the provider has no such extension; `overlap`: the time is billed already, in part. */
export const heldCost = z.object({
  provider: z.string(),
  currency,
  reason: z.enum(['unknown_extension', 'overlap']),
  items: z.int().nonnegative(),
  amount,
});
export type HeldCost = z.infer<typeof heldCost>;

/** How a provider was asked last. */
export const costFetch = z.object({
  provider: z.string(),
  last_success_at: dateTime.nullable(),
  next_at: dateTime,
  failures: z.int().nonnegative(),
  last_error: z.string().nullable(),
});
export type CostFetchRecord = z.infer<typeof costFetch>;

export const costTotalsAnswer = z.object({
  totals: z.array(costTotal),
  held: z.array(heldCost),
  fetches: z.array(costFetch),
});
export type CostTotalsAnswer = z.infer<typeof costTotalsAnswer>;

export const costTotalsRequest = z.object({
  ...days,
  provider: z.string().optional(),
  organization: z.string().optional(),
});

/** `refused`: they could not be read, or too many of the provider are held already. */
export const fetchedCosts = z.object({
  billed: z.int().nonnegative(),
  held: z.int().nonnegative(),
  refused: z.int().nonnegative(),
});

const tag = 'Extension costs';
const source = 'Extensions API, What the service does';

export const extensionCostOperations = {
  readExtensionCosts: definePlatformOperation({
    method: 'GET',
    path: '/v1/extensions/{id}/costs',
    summary: 'What an extension has cost, in whole minor units',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: z.object({ id: z.string().min(1).max(128) }),
    query: extensionCostsRequest,
    answer: { kind: 'json', status: 200, schema: extensionCostsAnswer },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found'],
  }),
  listCostTotals: definePlatformOperation({
    method: 'GET',
    path: '/v1/extension-costs',
    summary: "What extensions have cost, by provider, organization and currency; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    query: costTotalsRequest,
    answer: { kind: 'json', status: 200, schema: costTotalsAnswer },
    errors: ['invalid_request', 'unauthorized', 'forbidden'],
  }),
  exportCostTotals: definePlatformOperation({
    method: 'GET',
    path: '/v1/extension-costs.csv',
    summary: "The totals of `GET /v1/extension-costs` as CSV; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    query: costTotalsRequest,
    answer: { kind: 'text', status: 200, type: 'text/csv; charset=utf-8' },
    errors: ['invalid_request', 'unauthorized', 'forbidden'],
  }),
} as const;

/** Needs a platform that runs. */
export const costFetchOperations = {
  fetchProviderCosts: definePlatformOperation({
    method: 'POST',
    path: '/v1/extension-providers/{name}/fetch-costs',
    summary: "Ask a provider for its costs now, and not at the next time; at the platform's own socket only",
    source,
    tag,
    servedAt: ['operator'],
    access: 'operator',
    params: z.object({ name: z.string().min(1) }),
    answer: { kind: 'json', status: 200, schema: fetchedCosts },
    errors: ['unauthorized', 'forbidden', 'not_found', 'conflict', 'upstream_failed', 'upstream_timeout'],
  }),
} as const;
