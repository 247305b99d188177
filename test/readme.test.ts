import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { settings } from '../src/agent/config/settings.ts';
import { commands } from '../src/cli/commands.ts';
import { accessPolicy } from '../src/contract/access-policy.ts';
import { agentOperations } from '../src/contract/agent-operations.ts';
import {
  apiKeyConnectionRequest,
  connection,
  connectionListResponse,
  connectionResponse,
  listConnectionsRequest,
  updateConnectionRequest,
} from '../src/contract/connectors.ts';
import {
  oauthAuthorizeRequest,
  oauthAuthorizeResponse,
  oauthCallbackRequest,
  provisionConnectionRequest,
} from '../src/contract/oauth.ts';
import type { Operations } from '../src/contract/operation.ts';
import { platformOperations } from '../src/contract/platform-operations.ts';
import {
  createSpriteRequest,
  sprite,
  spriteListResponse,
  updateSpriteRequest,
  urlSettings,
  urlSettingsRequest,
} from '../src/contract/sprites.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

/** Those that the platform serves, by their names in document 1. */
const documentRecords = {
  Sprite: sprite,
  UrlSettings: urlSettings,
  UrlSettingsRequest: urlSettingsRequest,
  SpriteListResponse: spriteListResponse,
  CreateSpriteRequest: createSpriteRequest,
  UpdateSpriteRequest: updateSpriteRequest,
  Connection: connection,
  AccessPolicy: accessPolicy,
  ApiKeyConnectionRequest: apiKeyConnectionRequest,
  ProvisionConnectionRequest: provisionConnectionRequest,
  OAuthAuthorizeRequest: oauthAuthorizeRequest,
  OAuthAuthorizeResponse: oauthAuthorizeResponse,
  OAuthCallbackRequest: oauthCallbackRequest,
  UpdateConnectionRequest: updateConnectionRequest,
  ConnectionResponse: connectionResponse,
  ConnectionListResponse: connectionListResponse,
  ListConnectionsRequest: listConnectionsRequest,
} as const;

function tableRows(heading: string): string[] {
  const section = readme.split(/^## /m).find((text) => text.startsWith(heading)) ?? '';
  return section.split('\n').filter((line) => line.startsWith('| '));
}

it.each<[string, Operations]>([
  ['The socket', agentOperations],
  ['The platform', platformOperations],
])('the section %s lists each row that is served, and no other', (heading, operations) => {
  const served = Object.values(operations).map((row) => `${row.method === '*' ? 'any' : row.method} \`${row.path}\``);
  const listed = tableRows(heading)
    .slice(1)
    .map((line) => line.split(' | ')[0]?.replace('| ', ''));
  expect(listed.sort()).toEqual(served.sort());
});

it('says of each operation of document 1 that it is done', () => {
  const done = tableRows('Document 1').filter((line) => line.split(' | ')[1] === 'done');
  const listed = done.map((line) => line.split(' | ')[0]?.replace('| ', ''));
  const rows = Object.values(platformOperations).filter(({ source }) => source === 'document 1, Endpoints');
  expect(rows).toHaveLength(11);
  for (const row of rows) expect(listed).toContain(`${row.method} \`${row.path}\``);
});

it.each(Object.entries(documentRecords))('names each field of the record %s', (record, { shape }) => {
  const line = tableRows('Document 1').find((text) => text.startsWith(`| ${record} |`)) ?? '';
  const named = [...(line.split(' | ')[2] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect(named.sort()).toEqual(Object.keys(shape).sort());
});

it('lists each setting with its default', () => {
  const lines = tableRows('Settings of the agent');
  for (const row of Object.values(settings)) {
    const line = lines.find((text) => text.startsWith(`| \`${row.env}\` | \`${row.key}\``));
    expect(line, row.env).toBeDefined();
    if ('fallback' in row && row.fallback !== '') expect(line).toContain(`\`${row.fallback}\``);
  }
});

it('names each command', () => {
  const text = tableRows('Command line').join('\n');
  for (const command of commands) expect(text).toMatch(new RegExp(`\`(?:remora )?${command.name}\\b`));
});
