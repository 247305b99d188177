import { expect, it } from 'vitest';
import {
  toInitLine,
  toNodeTime,
  toPrimaryChangeLine,
  toTransactionLine,
} from '../../../../src/cli/dev/database-node/node-event.ts';
import { parseSqliteHeader } from '../../../../src/cli/dev/database-node/sqlite-header.ts';

it.each([
  ['2026-11-21T09:19:07.111Z', '2026-11-21T09:19:07.111Z'],
  ['2026-11-21T09:19:07.140Z', '2026-11-21T09:19:07.14Z'],
  ['2026-11-21T09:19:10.500Z', '2026-11-21T09:19:10.5Z'],
  ['2026-11-21T09:20:10.000Z', '2026-11-21T09:20:10Z'],
  ['2026-11-21T00:00:00.000Z', '2026-11-21T00:00:00Z'],
])('writes %s as %s', (given, expected) => {
  expect(toNodeTime(Date.parse(given))).toBe(expected);
});

it('writes the lines of a real node', () => {
  expect(toInitLine({ role: 'primary' })).toBe('{"type":"init","data":{"isPrimary":true}}\n');
  expect(toInitLine({ role: 'replica', hostname: 'db-1:20202' })).toBe(
    '{"type":"init","data":{"isPrimary":false,"hostname":"db-1:20202"}}\n',
  );
  expect(toPrimaryChangeLine({ role: 'replica', hostname: undefined })).toBe(
    '{"type":"primaryChange","data":{"isPrimary":false}}\n',
  );
  const line = toTransactionLine('db', {
    changeCounter: 39,
    checksum: '83b05248774ce767',
    pageSize: 4096,
    pageCount: 2,
    wall_ms: Date.parse('2023-09-06T19:12:34.985Z'),
  });
  expect(line).toBe(
    '{"type":"tx","db":"db","data":{"txID":"0000000000000027","postApplyChecksum":"83b05248774ce767","pageSize":4096,"commit":2,"timestamp":"2023-09-06T19:12:34.985Z"}}\n',
  );
});

function header(fields: { pageSize?: number; counter?: number; count?: number; validFor?: number; mode?: number }) {
  const bytes = Buffer.alloc(100);
  bytes.write('SQLite format 3\0', 'latin1');
  bytes.writeUInt16BE(fields.pageSize ?? 4096, 16);
  bytes.fill(fields.mode ?? 1, 18, 20);
  bytes.writeUInt32BE(fields.counter ?? 7, 24);
  bytes.writeUInt32BE(fields.count ?? 3, 28);
  bytes.writeUInt32BE(fields.validFor ?? fields.counter ?? 7, 92);
  return bytes;
}

it.each([
  ['an ordinary file', header({}), { pageSize: 4096, changeCounter: 7, pageCount: 3, journal: 'rollback' }],
  [
    'the largest page',
    header({ pageSize: 1 }),
    { pageSize: 65536, changeCounter: 7, pageCount: 3, journal: 'rollback' },
  ],
  [
    'a page count that is out of date',
    header({ validFor: 6 }),
    { pageSize: 4096, changeCounter: 7, pageCount: undefined, journal: 'rollback' },
  ],
  ['a file in WAL mode', header({ mode: 2 }), { pageSize: 4096, changeCounter: 7, pageCount: 3, journal: 'wal' }],
  ['an empty file', Buffer.alloc(0), undefined],
  ['half a header', header({}).subarray(0, 99), undefined],
  ['something else', Buffer.alloc(100, 'x'), undefined],
])('reads the header of %s', (_name, bytes, expected) => {
  expect(parseSqliteHeader(bytes)).toEqual(expected);
});
