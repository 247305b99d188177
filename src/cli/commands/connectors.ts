// `remora connectors`: what this sprite may call, with the address to use.
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { toTable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const list = await askAgent(invocation, (client) => client.call('listGateway'));
  if (invocation.has('json')) {
    out.line(JSON.stringify(list));
    return exitCode.ok;
  }
  if (list.connections.length === 0) out.line('no connector may be used from here');
  else {
    const rows = list.connections.map((connector) => [
      connector.provider,
      connector.id,
      connector.display_name,
      connector.gateway_base_url,
    ]);
    for (const line of toTable([['PROVIDER', 'ID', 'NAME', 'BASE URL'], ...rows])) out.line(line);
  }
  return exitCode.ok;
}
