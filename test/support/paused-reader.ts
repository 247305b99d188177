// A caller with a real HTTP client that takes the headers of an answer and reads nothing more until it is told to.
import { type IncomingMessage, request } from 'node:http';
import { onTestFinished } from 'vitest';

/** GETs `path` on a connection of its own. Resolves with the answer, paused. */
export function openPaused(socketPath: string, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, path, agent: false });
    onTestFinished(() => {
      call.destroy();
    });
    call.once('error', reject);
    call.once('response', (response) => {
      response.pause();
      resolve(response);
    });
    call.end();
  });
}

/** The rest of the answer. Rejects when it breaks off. */
export async function readAll(response: IncomingMessage): Promise<string> {
  let text = '';
  response.setEncoding('utf8');
  for await (const chunk of response) text += chunk;
  return text;
}
