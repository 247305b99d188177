// The pages: their tables are those that `npm run docs` makes, what is served, set and run stands in them, and what they name
// exists.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { settings } from '../src/agent/config/settings.ts';
import { commands } from '../src/cli/commands.ts';
import { replaceMadeParts } from '../src/cli/docs/made-parts.ts';
import { toMarkdownTable } from '../src/cli/docs/markdown-table.ts';
import { pages } from '../src/cli/docs/pages.ts';
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
import { errorStatus } from '../src/contract/errors.ts';
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

const root = new URL('..', import.meta.url).pathname;
const readPage = (path: string) => readFileSync(join(root, path), 'utf8');

/** Those that the platform serves, by their names in the Sandbox API. */
const servedRecords = {
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

function tableRows(path: string, heading: string): string[] {
  const section =
    readPage(path)
      .split(/^## /m)
      .find((text) => text.startsWith(`${heading}\n`)) ?? '';
  return section.split('\n').filter((line) => line.startsWith('| '));
}

const cells = (line: string) => line.slice(2, -2).split(' | ');

const prepositions = [
  ...'About,Above,Across,After,Against,Along,Among,Around,As,At,Before,Behind,Below,Beside,Besides'.split(','),
  ...'Between,Beyond,By,Despite,During,Except,For,From,In,Inside,Instead of,Into,Like,Near,Of,On,Onto'.split(','),
  ...'Outside,Over,Per,Since,Through,To,Toward,Towards,Under,Until,Upon,Via,With,Within,Without'.split(','),
];
const PREPOSITION = new RegExp(`^(?:${prepositions.join('|')})\\b(?!-)`);

/** The first line of each comment that has a line of its own, without its mark. */
const toOpenings = (text: string) =>
  [...text.matchAll(/^(?<!^[ \t]*\/\/.*\n)[ \t]*\/\/ (.*)|^[ \t]*\/\*\*(?:\n[ \t]*\*)? (.*)/gm)].map(
    ([, line, block]) => line ?? block ?? '',
  );

describe('made parts', () => {
  it.each(pages)('of $path are up to date; if not: npm run docs', ({ path, parts }) => {
    expect(readPage(path)).toBe(replaceMadeParts(readPage(path), parts));
  });

  const parts = { a: () => 'new' };
  test('are replaced, and nothing else is', () => {
    const page = 'x\n<!-- made: a -->\nold\n\nold\n<!-- end -->\ny\n';
    expect(replaceMadeParts(page, parts)).toBe('x\n<!-- made: a -->\n\nnew\n\n<!-- end -->\ny\n');
  });

  it.each([
    ['<!-- made: b -->\n<!-- end -->', 'unknown'],
    ['<!-- made: a -->\nx', 'has no end'],
    ['<!-- made: a -->\n<!-- end -->\n<!-- made: a -->\n<!-- end -->', 'twice'],
    ['x', 'have no place'],
  ])('%j is refused', (page, expected) => {
    expect(() => replaceMadeParts(page, parts)).toThrow(expected);
  });

  test('keep a cell in one cell', () => {
    expect(toMarkdownTable(['a'], [['x | y\nz <b> `<c>`']])).toBe('| a |\n|---|\n| x \\| y z \\<b> `<c>` |');
  });
});

describe('what is served, set and run', () => {
  it.each<[string, string, Operations]>([
    ['src/agent/README.md', 'Operations of the socket', agentOperations],
    ['src/platform/README.md', 'Operations', platformOperations],
  ])('%s lists each operation that is served, and no other', (path, heading, operations) => {
    const served = Object.values(operations).map(
      (operation) => `${operation.method === '*' ? 'any' : operation.method} \`${operation.path}\``,
    );
    const listed = tableRows(path, heading)
      .slice(1)
      .map((line) => cells(line)[0]);
    expect(listed.sort()).toEqual(served.sort());
  });

  it('says of each operation that the Sandbox API shows that it is done', () => {
    const shown = Object.values(platformOperations).filter(({ source }) => source === 'Sandbox API, Endpoints');
    expect(shown).toHaveLength(11);
    const listed = tableRows('src/platform/SANDBOX-API.md', 'Operations').map(cells);
    for (const operation of shown) {
      expect(listed.find(([name]) => name === `${operation.method} \`${operation.path}\``)?.[1], operation.path).toBe(
        'done',
      );
    }
  });

  it.each(Object.entries(servedRecords))('names each field of the record %s', (record, { shape }) => {
    const line = tableRows('src/platform/SANDBOX-API.md', 'Records').find((text) => text.startsWith(`| ${record} |`));
    const [, state, fields] = cells(line ?? '');
    expect(state).toMatch(/^(done|in part)/);
    const named = [...(fields ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name);
    expect(named.sort()).toEqual(Object.keys(shape).sort());
  });

  it('lists each setting with its default', () => {
    const lines = tableRows('src/agent/README.md', 'Settings');
    for (const row of Object.values(settings)) {
      const line = lines.find((text) => text.startsWith(`| \`${row.env}\` | \`${row.key}\``));
      expect(line, row.env).toBeDefined();
      if ('fallback' in row && row.fallback !== '') expect(line).toContain(`\`${row.fallback}\``);
    }
  });

  it('lists each error code with its status', () => {
    const listed = tableRows('src/agent/README.md', 'Error codes').slice(1).map(cells);
    expect(listed.map(([code, status]) => [code, status])).toEqual(
      Object.entries(errorStatus).map(([code, status]) => [`\`${code}\``, String(status)]),
    );
  });

  it('names each command', () => {
    const page = readPage('src/cli/README.md');
    for (const { name, flags, alias } of commands) {
      if (alias === true) continue;
      expect(page).toContain(`\n### remora ${name}\n`);
      for (const flag of Object.keys(flags)) expect(page, name).toContain(`--${flag}`);
    }
  });
});

describe('what a page names exists', () => {
  const all = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.md') && !path.includes('node_modules') && !path.startsWith('.git/'),
  );
  const anchorsOf = (page: string) =>
    [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );

  it('finds the pages', () => {
    expect(all).toEqual(expect.arrayContaining(['README.md', ...pages.map(({ path }) => path)]));
  });

  it('the README is short enough to be read', () => {
    expect(readPage('README.md').split('\n').length).toBeLessThanOrEqual(200);
  });

  it.each(all)('%s', (path) => {
    const page = readPage(path);
    for (const [, target = ''] of page.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue;
      const [file = '', anchor] = target.split('#');
      const linked = file === '' ? path : join(dirname(path), file);
      expect(existsSync(join(root, linked)), `${path}: ${target}`).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(readPage(linked)), `${path}: ${target}`).toContain(anchor);
    }
    for (const [named] of page.matchAll(/(?<![\w./:-])(?:src|test|systemd|\.ci)\/[\w./-]*\w/g)) {
      expect(existsSync(join(root, named)), `${path}: ${named}`).toBe(true);
    }
    const scripts: Record<string, string> = JSON.parse(readPage('package.json')).scripts;
    for (const [, name = ''] of page.matchAll(/\bnpm run (?:-s )?([\w:-]*\w)/g)) {
      expect(Object.keys(scripts), `${path}: npm run ${name}`).toContain(name);
    }
  });

  it('each file that a comment of the source names', () => {
    const places = ['src', 'test', 'systemd'].flatMap((place) =>
      readdirSync(join(root, place), { recursive: true, encoding: 'utf8' }).map((path) => join('/', place, path)),
    );
    const known = [...places, '/README.md'];
    let count = 0;
    for (const path of places.filter((each) => each.startsWith('/src/') && each.endsWith('.ts'))) {
      for (const [comment] of readPage(path).matchAll(/(?:^|\s)\/\/ .*$|^\s*\/?\*\*? .*$/gm)) {
        for (const [named] of comment.matchAll(/[\w./-]*\w\.(?:md|ts)\b/g)) {
          count += 1;
          const end = `/${named.replace(/^(?:\.\.?\/)+/, '')}`;
          expect(
            known.some((each) => each.endsWith(end)),
            `${path}: ${named}`,
          ).toBe(true);
        }
      }
    }
    expect(count).toBeGreaterThan(20);
  });

  const sources = ['src', 'test'].flatMap((place) =>
    readdirSync(join(root, place), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => join(place, path)),
  );

  it('no page and no source has a word that a reader stumbles over', () => {
    for (const path of [...sources, ...all].filter((each) => each !== 'test/docs.test.ts')) {
      const lines = readPage(path).split('\n');
      const found = lines.filter((line) => /\b(?:anew|whoever|whosoever|of (?:now|before)\b(?![.()]))/i.test(line));
      expect(found, path).toEqual([]);
    }
  });

  it('no comment opens with a preposition', () => {
    for (const path of sources) {
      expect(
        toOpenings(readPage(path)).filter((opening) => PREPOSITION.test(opening)),
        path,
      ).toEqual([]);
    }
  });

  test('a comment opens with its first line, whatever stands in the others', () => {
    const text = '// a\n// In b\nconst c = 1;\n  /** In d */\n/**\n * Of e\n * In f\n */\n\n  // By g\n  // h\n';
    const openings = toOpenings(text);
    expect(openings).toEqual(['a', 'In d */', 'Of e', 'By g']);
    expect(openings.filter((opening) => PREPOSITION.test(opening))).toEqual(['In d */', 'Of e', 'By g']);
    expect(['Offers', 'In-process calls', 'Information'].filter((opening) => PREPOSITION.test(opening))).toEqual([]);
  });

  it('each benchmark stands in the page of figures', () => {
    const scripts = Object.keys(JSON.parse(readPage('package.json')).scripts);
    const benches = scripts.filter((name) => name.startsWith('bench:'));
    expect(benches.length).toBeGreaterThan(3);
    for (const name of benches) expect(readPage('test/bench/README.md')).toContain(`npm run ${name}\``);
  });

  it('each variable that a page names is read somewhere', () => {
    const filesOf = (folder: string, ending: string) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith(ending))
        .map((path) => readPage(join(folder, path)));
    const source = [
      ...filesOf('src', '.ts'),
      ...filesOf('systemd', '.service'),
      readPage('test/vitest.config.ts'),
    ].join('\n');
    for (const path of all) {
      for (const [name] of readPage(path).matchAll(/\bREMORA_[A-Z_]+\b/g)) {
        expect(source.includes(name), `${path}: ${name}`).toBe(true);
      }
    }
  });
});
