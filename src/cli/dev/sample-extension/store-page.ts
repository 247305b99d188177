// The page of a store as HTML. Pure.
import { escapeHtml } from '../../../provider/index.ts';
import type { BrowserSession } from './browser-session.ts';
import { planLimits } from './kv-plans.ts';
import type { KvStore } from './kv-store.ts';

const VALUE_CHARS_SHOWN = 200;

export interface StorePage {
  readonly store: KvStore;
  readonly usage: { readonly keys: number; readonly bytes: number };
  readonly person: BrowserSession;
  readonly entries: readonly { readonly key: string; readonly bytes: number; readonly value: string }[];
}

export function toStorePage({ store, usage, person, entries }: StorePage): string {
  const limits = planLimits[store.plan];
  const rows = entries.map(
    ({ key, bytes, value }) =>
      `<tr><td>${escapeHtml(key)}</td><td>${bytes}</td><td>${escapeHtml(value.slice(0, VALUE_CHARS_SHOWN))}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(store.name)}</title></head><body>
<h1>${escapeHtml(store.name)}</h1>
<p>Signed on as <b id="person">${escapeHtml(person.name)}</b> (${person.role}).</p>
<p>Plan <b id="plan">${store.plan}</b>: ${usage.keys} of ${limits.keys} keys, ${usage.bytes} of ${limits.bytes} bytes.</p>
<table><thead><tr><th>Key</th><th>Bytes</th><th>Value</th></tr></thead><tbody>
${rows.join('\n')}
</tbody></table>
${person.role === 'admin' ? toForms(store) : ''}
</body></html>
`;
}

function toForms({ plan }: KvStore): string {
  const other = plan === 'free' ? 'large' : 'free';
  return `<form method="post"><button name="plan" value="${other}">Take the plan ${other}</button></form>
<form method="post"><button name="action" value="delete">Delete this store</button></form>`;
}
