// `remora ports`: the open ports as a table, or their changes as they come.
import type { z } from 'zod';
import type { PortListener, PortWatchLine, portsStatus } from '../../contract/local/ports.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation, Output } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { paint } from '../paint.ts';
import { toPrintable, toTable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  return await askAgent(invocation, async (client) => {
    const { out } = invocation;
    if (!invocation.has('watch')) {
      const report = await client.call('listPorts');
      if (invocation.has('json')) out.line(JSON.stringify(report));
      else printStatus(out, report);
      return exitCode.ok;
    }
    for await (const line of client.stream('watchPorts')) {
      if (invocation.has('json')) out.line(JSON.stringify(line));
      else printChange(out, line);
    }
    out.note('the agent ended the stream');
    return exitCode.failed;
  });
}

function printStatus(out: Output, status: z.output<typeof portsStatus>): void {
  printPorts(out, status.ports);
  const leftOut = status.left_out.map((port) => `${port.port} (${port.class})`);
  if (leftOut.length > 0) out.note(`not announced: ${leftOut.join(', ')}`);
  if (status.problem !== undefined)
    out.note(`these are the ports of ${status.scanned_at}: ${toPrintable(status.problem)}`);
}

function printPorts(out: Output, ports: readonly PortListener[]): void {
  if (ports.length === 0) {
    out.line('no port is open');
    return;
  }
  const rows = ports.map((port) => [
    String(port.port),
    toPid(port.pid),
    port.command ?? '-',
    port.addresses.join(' '),
    port.address,
  ]);
  for (const line of toTable([['PORT', 'PID', 'COMMAND', 'BOUND TO', 'ADDRESS'], ...rows])) out.line(line);
}

function printChange(out: Output, line: PortWatchLine): void {
  switch (line.type) {
    case 'port_list':
      printPorts(out, line.ports);
      return;
    case 'port_opened':
    case 'port_closed': {
      const word = line.type === 'port_opened' ? 'opened' : 'closed';
      const text = `${word}  ${line.port}  pid ${toPid(line.pid)}  ${toPrintable(line.address)}`;
      out.line(paint(out, text, word, word === 'opened' ? 'good' : 'faint'));
      return;
    }
    default:
      line satisfies never;
  }
}

/** A pid of 0 means that the process could not be found. */
function toPid(pid: number): string {
  return pid === 0 ? '-' : String(pid);
}
