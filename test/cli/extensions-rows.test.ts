// The page of the Extensions API: what it says is served and tested is there, and no field and no endpoint of the contract is left out.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { extensionsRows } from '../../src/cli/docs/extensions-rows.ts';
import { extensionResource, extensionWebhook } from '../../src/contract/extension-webhooks.ts';
import { providerOperations, provisioningRequest, provisioningResponse } from '../../src/contract/extensions.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { tokenInfo } from '../../src/contract/sign-on.ts';
import { hasTest } from '../support/has-test.ts';

const root = new URL('../../', import.meta.url).pathname;
const rowsOf = (section: string) => extensionsRows.filter((each) => each.section === section).map(({ row }) => row);

test('each row that is done names a test that exists', () => {
  const missing = extensionsRows.filter(({ test: named }) => !hasTest(...named));
  expect(missing.map(({ section, row, test: named }) => [section, row, named])).toEqual([]);
  expect(hasTest('cli/extensions-rows.test.ts', 'no such title')).toBe(false);
});

test('each rule has its number, and no row stands twice', () => {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => String(index + 1));
  expect(rowsOf('What the service does')).toEqual(numbers(9));
  expect(rowsOf('States and transitions')).toEqual(numbers(2));
  expect(rowsOf('Request signing')).toEqual(numbers(4));
  expect(rowsOf('Webhooks from the platform to the provider')).toEqual(numbers(5));
  expect(rowsOf('Limits')).toHaveLength(3);
  const names = extensionsRows.map(({ section, row }) => `${section}, ${row}`);
  expect(names).toEqual([...new Set(names)]);
});

test('the fields of the records are those of the contract', () => {
  expect(rowsOf('Provisioning request').sort()).toEqual(Object.keys(provisioningRequest.shape).sort());
  expect(rowsOf('Provisioning response').sort()).toEqual(Object.keys(provisioningResponse.shape).sort());
  expect(rowsOf('Resource record in webhooks').sort()).toEqual(Object.keys(extensionResource.shape).sort());
  expect(rowsOf('Token introspection response').sort()).toEqual(Object.keys(tokenInfo.shape).sort());
  const actions = extensionWebhook.options.map(({ shape }) => shape.action.value);
  expect(rowsOf('Webhooks from the provider to the platform').sort()).toEqual(actions.sort());
});

test('the operations and the files that serve a row exist', () => {
  const known = new Set(
    [...Object.values(platformOperations), ...Object.values(providerOperations)].map(
      ({ method, path }) => `${method} ${path}`,
    ),
  );
  for (const { by } of extensionsRows) {
    for (const [, operation = ''] of by.matchAll(/`((?:GET|POST|PATCH|DELETE) [^`]+)`/g))
      expect(known).toContain(operation);
    for (const [path] of by.matchAll(/src\/[\w/.-]+/g)) expect(existsSync(root + path), path).toBe(true);
  }
});
