// A machine that behaves: its end of the channel is the agent's own, in front of a server that answers every call with 200 and `[]`
// unless said otherwise.
import { createServer, type RequestListener } from 'node:http';
import { onTestFinished } from 'vitest';
import { toServerTarget } from '../../src/agent/channel/channel-target.ts';
import { serveChannel } from '../../src/agent/channel/serve-channel.ts';
import type { PlayedMachine } from './channel-tenants.ts';
import { dialAs, reportMachine } from './dial-as.ts';

const answerNothing: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
};

export async function openPlayedAgent(url: string, machine: PlayedMachine, answer = answerNothing): Promise<void> {
  const server = createServer(answer);
  const socket = await dialAs(url, machine, await reportMachine(url, machine));
  const session = serveChannel(socket, { targets: [toServerTarget('agent', server)], onClose: () => undefined });
  onTestFinished(() => void session.destroy());
}
