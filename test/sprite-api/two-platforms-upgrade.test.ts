// Two platform processes on one PostgreSQL database: an agent is upgraded through the one to which it is not connected, and may come back
// to another one than it left.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openConnectedPair, portOf } from '../support/connected-pair.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import { copyProgram } from '../support/program-copy.ts';

describe.skipIf(isWithoutPostgres())(
  'two platforms behind one address',
  () => {
    let server: PostgresServer;
    beforeAll(async () => {
      server = await openPostgresServer();
    });
    afterAll(async () => {
      await server[Symbol.asyncDispose]();
    });

    test('an upgrade is passed on, and ends also when the agent comes back elsewhere', async () => {
      const program = copyProgram();
      const { front, one, other } = await openConnectedPair(await server.createDatabase(), true, program.path);
      const call = { method: 'POST', path: '/v1/sprites/dev-1/upgrade' };
      program.install('99.1.0');
      expect(await other.call(call)).toMatchObject({
        status: 200,
        json: { version_before: program.version, version_after: '99.1.0' },
      });
      program.install('99.2.0');
      front.leadNext(portOf(other));
      expect(await one.call(call)).toMatchObject({ status: 200, json: { version_after: '99.2.0' } });
      expect(await other.call(call)).toMatchObject({ status: 204, text: '' });
    });
  },
  120_000,
);
