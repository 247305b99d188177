// A platform that is gone while bytes are on their way to it: nothing that is written leaves any more, not even the goodbye.
import { duplexPair } from 'node:stream';
import { expect, test } from 'vitest';
import { serveChannel } from '../../src/agent/channel/serve-channel.ts';
import { eventually } from '../support/eventually.ts';

test('a channel whose platform takes no byte ends, so that it is dialled again', async () => {
  const [socket] = duplexPair();
  let reason: string | undefined;
  const onClose = (why: string | undefined) => {
    reason = why ?? '';
  };
  serveChannel(socket, { targets: [], pingInterval_ms: 20, onClose });
  expect(await eventually(() => reason)).toBe('the platform answers no ping');
  expect(socket.destroyed).toBe(true);
});
