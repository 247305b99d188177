// `remora env`: what an SDK needs to call a provider through the agent, as lines for `eval`. The key is a capability token.
import { parseDuration } from '../../contract/duration.ts';
import { toQuotedWord } from '../../core/shell-word.ts';
import { askAgent } from '../ask-agent.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { findConnector } from '../find-connector.ts';
import { toSdkVariables } from '../sdk-variables.ts';

const DEFAULT = '1h';

export async function run(invocation: Invocation): Promise<number> {
  const { out } = invocation;
  const id = invocation.text('connector');
  if (id === undefined)
    throw new UsageError('env: --connector ID is missing; `remora connectors` shows those there are');
  const expire = invocation.text('expire') ?? DEFAULT;
  if (parseDuration(expire) === undefined) throw new UsageError(`env: --expire takes a time such as 1h, not ${expire}`);
  const variables = await askAgent(invocation, async (client) => {
    const { connections } = await client.call('listGateway');
    const connector = findConnector(connections, id);
    if (connector === undefined)
      throw new Error(`this sprite may use no connector ${id}; \`remora connectors\` shows more`);
    const { provider, base_urls, id: connector_id } = connector;
    if (base_urls.tcp === null) {
      throw new Error('the agent has no loopback listener; set REMORA_LISTEN=127.0.0.1:4181, or use the socket');
    }
    const { token } = await client.call('createGatewayToken', { body: { connector_id, expire } });
    return toSdkVariables({ provider, base_url: base_urls.tcp, token });
  });
  if (invocation.has('json')) out.line(JSON.stringify(variables));
  else for (const [name, value] of Object.entries(variables)) out.line(`export ${name}=${toQuotedWord(value)}`);
  return exitCode.ok;
}
