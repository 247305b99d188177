// The socket on this host that leads to the agent of a machine through a program in it: here the machine is a process, reached as a
// virtual machine is.
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openMachineSocket } from '../../../src/cli/dev/machine-socket.ts';
import { openDoor } from '../../../src/cli/inside/sprite-door.ts';
import { Secret } from '../../../src/core/secret.ts';
import { startDev } from '../../support/dev-process.ts';
import { eventually } from '../../support/eventually.ts';
import { loudly } from '../../support/loudly.ts';
import { memoryDir } from '../../support/memory-dir.ts';
import { paste, pasteJson, pasteLines } from '../../support/paste.ts';

const hasPerl = spawnSync('perl', ['-e', '1']).status === 0;

it.skipIf(loudly(!hasPerl, 'no perl: no socket of a virtual machine is tried'))(
  'carries calls and streams, and ends with a call under way',
  async () => {
    await using dev = await startDev({ dir: memoryDir() });
    const { platform_url: origin, token, sprite, socket: agentPath } = dev.record;
    const prefix = `/v1/sprites/${sprite}`;
    const entrance = { sprite, origin, socketPath: undefined, prefix, token: new Secret(token), headers: {} };
    await using door = openDoor(entrance);
    const failures: unknown[] = [];
    const onFailure = (error: unknown) => void failures.push(error);
    const path = join(memoryDir(), 'agent.sock');
    const opened = await openMachineSocket({ path, agentPath, door, onFailure });
    const carried = (title: string) => dev.commandFor(title).replace(agentPath, path);

    expect(await pasteJson(carried('what the agent says of itself'))).toMatchObject({ identity: { sprite } });
    expect((await paste(carried('a stream through the gateway'))).match(/^event: beat$/gm)).toHaveLength(3);
    expect(await pasteLines(carried('ports as they open'), 1)).toMatchObject([{ type: 'port_list' }]);
    const upload = `curl -sS --max-time 20 --unix-socket ${path} -X POST -T - http://remora/v1/gateway/sample/sample/up`;
    const echo = await pasteJson(`sh -c "head -c 3000000 /dev/zero | ${upload}"`);
    expect(echo).toMatchObject({ method: 'POST', body_bytes: 3_000_000 });
    expect(failures).toEqual([]);

    const waiting = connect({ path });
    const over = once(waiting, 'close');
    waiting.on('error', () => undefined).write('GET /v1/ports/watch HTTP/1.1\r\nhost: remora\r\n\r\n');
    await once(waiting, 'data');
    await opened[Symbol.asyncDispose]();
    await over;
    await eventually(async () => (await sessionsOf(agentPath)).length === 0);
  },
);

async function sessionsOf(socket: string): Promise<readonly unknown[]> {
  return (await pasteJson(`curl -sS --max-time 20 --unix-socket ${socket} http://remora/v1/exec`))
    .sessions as unknown[];
}
