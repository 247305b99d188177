// Callers of the agent's gateway that never stop: each calls over a connection that it keeps, one call after the other, every second one
// a POST, and writes down each answer. Arguments: how many, the path of the connector, the file.
import { appendFileSync } from 'node:fs';
import { Agent, request } from 'node:http';

const [count = '1', path = '', file = ''] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const PAUSE_MS = 100;

function call(method: string, target: string): Promise<object> {
  return new Promise((resolve) => {
    const options = { socketPath: '/run/remora/remora.sock', agent, method, path: `${path}/${target}` };
    const sent = request(options, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      answer.on('close', () => resolve({ status: answer.statusCode, code: answer.headers['remora-error'], text }));
    });
    sent.on('error', (error: NodeJS.ErrnoException) => resolve({ status: 0, code: error.code }));
    sent.end();
  });
}

for (let caller = 0; caller < Number(count); caller += 1) {
  void (async () => {
    for (let n = 0; ; n += 1) {
      const method = n % 2 === 0 ? 'GET' : 'POST';
      const target = `${caller}-${n}`;
      appendFileSync(file, `${JSON.stringify({ method, target, ...(await call(method, target)) })}\n`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
}
