// The calls of one turn of the event loop share the opening of a credential, and nothing of it is kept after the turn.
import { expect, it } from 'vitest';
import { RemoraError } from '../../src/core/remora-error.ts';
import { Secret } from '../../src/core/secret.ts';
import { createReadCredential } from '../../src/platform/connectors/read-credential.ts';
import { toConnectorPlace } from '../../src/platform/connectors/records/connector-place.ts';
import type { ConnectorRow } from '../../src/platform/connectors/records/connector-store.ts';
import { createVault } from '../../src/platform/vault/vault.ts';

const vault = createVault([new Secret('ab'.repeat(32))]);
const placed = {
  id: 'conn_1',
  organization_id: 'org_1',
  provider: 'hub',
  connection_type: 'api_key',
  base_api_url: null,
  access_policy: '{"allow_all":true}',
} as const;

function makeRow(key: string): ConnectorRow {
  return {
    ...placed,
    name: null,
    provider_account_id: 'account',
    provider_account_name: null,
    closed: vault.close(toConnectorPlace(placed), new Secret(key)),
    scopes: null,
    token_expires_at: null,
    token_lifetime_ms: null,
    authorization_ended_at: null,
    user_id: null,
    credential_version: 1,
    inserted_at: 0,
    updated_at: 0,
  };
}

function openReader() {
  const counted = { opened: 0, logged: 0 };
  const open: typeof vault.open = (place, closed) => {
    counted.opened += 1;
    return vault.open(place, closed);
  };
  const error = () => {
    counted.logged += 1;
  };
  const read = createReadCredential({ open }, { error });
  const keyOf = (row: ConnectorRow) => {
    const credential = read(row);
    return credential.type === 'api_key' ? credential.api_key.reveal() : credential.type;
  };
  return { counted, keyOf };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

it('opens a credential once for all calls of one turn, and again in the next', async () => {
  const { counted, keyOf } = openReader();
  const [one, other] = [makeRow('key-1'), makeRow('key-2')];
  for (const turns of [1, 2, 3]) {
    for (const _ of [1, 2, 3]) {
      expect([keyOf(one), keyOf(other)]).toEqual(['key-1', 'key-2']);
      await Promise.resolve();
    }
    expect(counted.opened).toBe(2 * turns);
    await nextTurn();
  }
});

it('opens nothing for a row that was altered, although the row before it was opened in the same turn', () => {
  const { counted, keyOf } = openReader();
  const row = makeRow('key-1');
  expect(keyOf(row)).toBe('key-1');
  const altered = { ...row, access_policy: '{"allow_all":true,"name_prefix":""}' };
  for (const _ of [1, 2]) {
    expect(() => keyOf(altered)).toThrow(expect.objectContaining({ code: 'record_altered' }));
  }
  expect(() => keyOf({ ...row, id: 'conn_2' })).toThrow(RemoraError);
  expect(keyOf({ ...row })).toBe('key-1');
  expect(counted).toEqual({ opened: 5, logged: 2 });
});
