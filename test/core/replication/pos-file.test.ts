import { expect, test } from 'vitest';
import {
  parseDatabaseHeader,
  parsePosFile,
  toDatabaseName,
  toPosName,
  toPosText,
} from '../../../src/core/replication/pos-file.ts';

test.each([
  ['0000000000000027/83b05248774ce767\n', { txID: '0000000000000027', postApplyChecksum: '83b05248774ce767' }],
  ['0000000000000027/83b05248774ce767', { txID: '0000000000000027', postApplyChecksum: '83b05248774ce767' }],
  ['', undefined],
  ['0000000000000027', undefined],
  ['0000000000000027/83b05248774ce76', undefined],
  ['0000000000000027/83b05248774ce767\n\n', undefined],
  ['27/83', undefined],
])('%j is the position %o', (text, position) => {
  expect(parsePosFile(text)).toEqual(position);
});

test('a position is written as it is read', () => {
  const position = { txID: '00000000000000ff', postApplyChecksum: '83b05248774ce767' };
  expect(toPosText(position)).toBe('00000000000000ff/83b05248774ce767\n');
  expect(parsePosFile(toPosText(position))).toEqual(position);
});

test.each([
  ['my.db', 'my.db-pos'],
  ['größe', 'größe-pos'],
  ['a-pos', 'a-pos-pos'],
  ['', undefined],
  ['../x', undefined],
  ['a/b', undefined],
  ['a\0b', undefined],
  ['x'.repeat(251), `${'x'.repeat(251)}-pos`],
  ['x'.repeat(252), undefined],
])('the file of %j is %j', (db, file) => {
  expect(toPosName(db)).toBe(file);
  if (file !== undefined) expect(toDatabaseName(file)).toBe(db);
});

test('a file that is no position has no database', () => {
  for (const file of ['my.db', '-pos', '.primary', 'my.db-wal']) expect(toDatabaseName(file)).toBeUndefined();
});

test('a database header has page size and pages', () => {
  const header = Buffer.alloc(100);
  header.write('SQLite format 3\0', 'latin1');
  header.writeUInt16BE(4096, 16);
  header.writeUInt32BE(7, 28);
  expect(parseDatabaseHeader(header)).toEqual({ pageSize: 4096, commit: 7 });
  header.writeUInt16BE(1, 16);
  expect(parseDatabaseHeader(header)).toEqual({ pageSize: 65_536, commit: 7 });
  expect(parseDatabaseHeader(header.subarray(0, 99))).toBeUndefined();
  expect(parseDatabaseHeader(Buffer.alloc(100))).toBeUndefined();
});
