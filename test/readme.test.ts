import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { settings } from '../src/agent/config/settings.ts';
import { commands } from '../src/cli/commands.ts';
import { agentOperations } from '../src/contract/agent-operations.ts';
import type { Operations } from '../src/contract/operation.ts';
import { platformOperations } from '../src/contract/platform-operations.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

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
