// One request over a Unix socket with a real HTTP client, and its whole answer.
import { type Agent, type IncomingHttpHeaders, request } from 'node:http';

export interface Question {
  readonly method?: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly agent?: Agent;
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

/** Rejects when the connection breaks off before the answer is complete. */
export function ask(socketPath: string, question: Question): Promise<HttpAnswer> {
  const { method = 'GET', target, headers = {}, body, agent } = question;
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method, path: target, headers, ...(agent === undefined ? {} : { agent }) });
    call.once('error', reject);
    call.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('error', reject);
      response.once('end', () => {
        const isJson = (response.headers['content-type'] ?? '').startsWith('application/json');
        const json: unknown = isJson && text !== '' ? JSON.parse(text) : undefined;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, json });
      });
    });
    call.end(body);
  });
}
