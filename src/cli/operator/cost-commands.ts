// `remora platform costs …` and `remora extension costs`: each function is one command.
import type { ExtensionCost } from '../../contract/extension-cost-totals.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { askPlatform } from '../target/platform-client.ts';
import { print, toWhen } from './print.ts';

export async function listCosts(invocation: Invocation): Promise<number> {
  const { text, has, out } = invocation;
  const query = { ...toDays(invocation), provider: text('provider'), organization: text('customer') };
  if (has('csv')) {
    const csv = await askPlatform(invocation, (client) => client.call('exportCostTotals', { query }));
    for (const line of csv.split('\r\n').slice(0, -1)) out.line(line);
    return exitCode.ok;
  }
  const answer = await askPlatform(invocation, (client) => client.call('listCostTotals', { query }));
  return print(invocation, answer, [
    ['PROVIDER', 'ORGANIZATION', 'CURRENCY', 'ITEMS', 'AMOUNT', 'SHARE', 'PAYOUT'],
    ...answer.totals.map(({ provider, organization, currency, ...sums }) => [
      provider,
      organization,
      currency,
      ...[sums.items, sums.amount, sums.share, sums.payout].map(String),
    ]),
    ...answer.held.map(({ provider, currency, reason, items, amount }) => [
      provider,
      `held: ${reason}`,
      currency,
      String(items),
      String(amount),
      '-',
      '-',
    ]),
    ...answer.fetches.flatMap(({ provider, last_error, last_success_at }) =>
      last_error === null ? [] : [[provider, `not asked since ${toWhen(last_success_at)}: ${last_error}`]],
    ),
  ]);
}

export async function fetchCosts(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  const answer = await askPlatform(invocation, (client) => client.call('fetchProviderCosts', { params: { name } }));
  const { billed, held, refused } = answer;
  return print(invocation, answer, [[`${billed} billed, ${held} held, ${refused} refused`]]);
}

export async function listExtensionCosts(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.operands;
  const answer = await askPlatform(invocation, async (client) => {
    const items: ExtensionCost[] = [];
    let after: number | undefined;
    for (;;) {
      const query = { ...toDays(invocation), after };
      const page = await client.call('readExtensionCosts', { params: { id }, query });
      items.push(...page.items);
      if (page.next === undefined) return { items, totals: page.totals };
      after = Number(page.next);
    }
  });
  return print(invocation, answer, [
    ['FROM', 'TO', 'AMOUNT', 'CURRENCY', 'DESCRIPTION'],
    ...answer.items.map(({ from, to, amount, currency, description }) => [
      from,
      to,
      String(amount),
      currency,
      description,
    ]),
    ...answer.totals.map(({ amount, currency }) => ['total', '', String(amount), currency]),
  ]);
}

function toDays({ text }: Invocation) {
  return { since: text('since'), until: text('until') };
}
