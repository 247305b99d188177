// A provider of language models that speaks the wire formats of OpenAI and of Anthropic, as JSON and as events. It wants its own
// key, waits between two events of a stream for the test, and says nothing at all as the model `silent`.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';
import { z } from 'zod';
import { atEnd } from './at-end.ts';

export const MODEL_KEY = 'canary-model-key-0042';
/** Its answer, a piece an event. */
export const words = ['Streams ', 'arrive ', 'in ', 'pieces.'] as const;

export interface ModelProvider {
  readonly url: string;
  /** Targets and headers of all calls, as they came. */
  readonly calls: readonly { readonly target: string; readonly rawHeaders: readonly string[] }[];
  /** Awaited before each piece of a stream but the first. */
  pace: (index: number) => Promise<void>;
}

const question = z.object({
  model: z.string(),
  stream: z.boolean().default(false),
  messages: z.array(z.unknown()).min(1),
  stream_options: z.object({ include_usage: z.boolean() }).partial().optional(),
});
type Question = z.infer<typeof question>;

const openAiUsage = { prompt_tokens: 11, completion_tokens: 4, total_tokens: 15 };

export async function openModelProvider(): Promise<ModelProvider> {
  const calls: { target: string; rawHeaders: readonly string[] }[] = [];
  const provider = { url: '', calls, pace: async () => undefined } as ModelProvider & { url: string };
  const server = createServer((request, response) => {
    calls.push({ target: request.url ?? '', rawHeaders: request.rawHeaders });
    answer(request, response, provider).catch(() => response.destroy());
  });
  const sockets = serveRealtime(server, calls);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => {
    for (const client of sockets.clients) client.terminate();
    server.closeAllConnections();
    server.close();
  });
  provider.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return provider;
}

async function answer(request: IncomingMessage, response: ServerResponse, provider: ModelProvider): Promise<void> {
  const { headers, url } = request;
  const isAnthropic = url?.startsWith('/v1/messages') === true;
  const isKnown = isAnthropic ? headers['x-api-key'] === MODEL_KEY : headers.authorization === `Bearer ${MODEL_KEY}`;
  if (!isKnown) return sendError(response, 401, 'authentication_error', {});
  if (request.method === 'GET' && url?.startsWith('/v1/models') === true) {
    return sendJson(response, 200, { object: 'list', data: [{ id: 'model-1', object: 'model', owned_by: 'test' }] });
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const asked = question.parse(JSON.parse(Buffer.concat(chunks).toString()));
  if (asked.model === 'silent') return;
  if (asked.model === 'busy') return sendError(response, 429, 'rate_limit_error', { 'retry-after': '7' });
  if (!asked.stream) return sendJson(response, 200, isAnthropic ? toMessage() : toCompletion(asked));
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  await (isAnthropic ? streamMessage(response, provider) : streamCompletion(response, provider, asked));
  response.end();
}

/** Answers `session.created`, and then each event with its type and `.done`. */
function serveRealtime(server: Server, calls: { target: string; rawHeaders: readonly string[] }[]): WebSocketServer {
  const handleProtocols = (offered: Set<string>) => (offered.has('realtime') ? 'realtime' : false);
  const sockets = new WebSocketServer({ noServer: true, handleProtocols });
  server.on('upgrade', (request: IncomingMessage, socket, head) => {
    calls.push({ target: request.url ?? '', rawHeaders: request.rawHeaders });
    if (request.headers.authorization !== `Bearer ${MODEL_KEY}`) {
      socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      client.send(JSON.stringify({ type: 'session.created' }));
      client.on('message', (text) => {
        const { type } = z.object({ type: z.string() }).parse(JSON.parse(String(text)));
        client.send(JSON.stringify({ type: `${type}.done` }));
      });
    });
  });
  return sockets;
}

function toCompletion({ model }: Question) {
  const message = { role: 'assistant', content: words.join(''), refusal: null };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
  return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model, choices, usage: openAiUsage };
}

async function streamCompletion(response: ServerResponse, { pace }: ModelProvider, asked: Question): Promise<void> {
  const base = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: asked.model };
  const wantsUsage = asked.stream_options?.include_usage === true;
  const send = (fields: object) => response.write(`data: ${JSON.stringify({ ...base, ...fields })}\n\n`);
  for (const [index, content] of words.entries()) {
    if (index > 0) await pace(index);
    const choices = [{ index: 0, delta: { content }, finish_reason: null }];
    send({ choices, ...(wantsUsage ? { usage: null } : {}) });
  }
  send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], ...(wantsUsage ? { usage: null } : {}) });
  if (wantsUsage) send({ choices: [], usage: openAiUsage });
  response.write('data: [DONE]\n\n');
}

function toMessage(content: object[] = [{ type: 'text', text: words.join('') }], output_tokens = 4) {
  const usage = { input_tokens: 11, output_tokens };
  const rest = { model: 'model-1', stop_reason: 'end_turn', stop_sequence: null };
  return { id: 'msg_1', type: 'message', role: 'assistant', content, ...rest, usage };
}

async function streamMessage(response: ServerResponse, { pace }: ModelProvider): Promise<void> {
  const send = (type: string, fields: object = {}) =>
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  send('message_start', { message: { ...toMessage([], 1), stop_reason: null } });
  send('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
  send('ping');
  for (const [index, text] of words.entries()) {
    if (index > 0) await pace(index);
    send('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });
  }
  send('content_block_stop', { index: 0 });
  const delta = { stop_reason: 'end_turn', stop_sequence: null };
  send('message_delta', { delta, usage: { output_tokens: 4 } });
  send('message_stop');
}

function sendError(response: ServerResponse, status: number, type: string, headers: Record<string, string>): void {
  sendJson(response, status, { type: 'error', error: { type, message: 'as the provider says it' } }, headers);
}

function sendJson(response: ServerResponse, status: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
