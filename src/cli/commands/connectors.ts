// `remora connectors`: the connectors that this sprite may use, with their URLs; for a single one also commands to paste.
import type { LocalConnection } from '../../contract/local/gateway.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation, Output } from '../command.ts';
import { exitCode } from '../exit-code.ts';
import { findConnector } from '../find-connector.ts';
import { toPrintable, toTable } from '../table.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const [id] = invocation.operands;
  const list = await askAgent(invocation, (client) => client.call('listGateway'));
  if (id !== undefined) return showOne(invocation, findConnector(list.connections, id));
  if (invocation.has('json')) out.line(JSON.stringify(list));
  else if (list.connections.length === 0) out.line('no connector may be used from here');
  else showAll(out, list.connections);
  return exitCode.ok;
}

function showAll(out: Output, connections: readonly LocalConnection[]): void {
  const hasTcp = connections.some(({ base_urls }) => base_urls.tcp !== null);
  const rows = connections.map(({ provider, id, name, display_name, base_urls }) => [
    provider,
    name === undefined ? id : `${id} (${name})`,
    display_name,
    base_urls.socket,
    ...(hasTcp ? [base_urls.tcp ?? '-'] : []),
  ]);
  const head = ['PROVIDER', 'ID', 'NAME', 'BASE URL ON THE SOCKET', ...(hasTcp ? ['BASE URL WITH A TOKEN'] : [])];
  for (const line of toTable([head, ...rows])) out.line(line);
}

function showOne(invocation: Invocation, connector: LocalConnection | undefined): number {
  const { out, operands } = invocation;
  if (connector === undefined) throw new Error(`this sprite may use no connector ${operands[0] ?? ''}`);
  if (invocation.has('json')) {
    out.line(JSON.stringify(connector));
    return exitCode.ok;
  }
  const { base_urls, snippets } = connector;
  const rows = [
    ['connector', `${connector.provider}/${connector.id}, ${connector.display_name}`],
    ['socket', base_urls.socket],
    ['loopback', base_urls.tcp ?? 'off (REMORA_LISTEN)'],
    ...(base_urls.tcp === null ? [] : [['for SDKs', `eval "$(remora env --connector ${connector.id})"`]]),
  ];
  for (const line of toTable(rows)) out.line(line);
  for (const [name, text] of Object.entries(snippets)) {
    out.line('');
    out.line(`# ${name}`);
    for (const line of text.split('\n')) out.line(toPrintable(line));
  }
  return exitCode.ok;
}
