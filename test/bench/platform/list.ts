// Reading the list of sprites over HTTP: how long its first and its last page take, in turns, so that both meet the same noise.
import { Agent, request } from 'node:http';
import { z } from 'zod';

const page = z.object({
  sprites: z.array(z.object({ name: z.string() })),
  has_more: z.boolean(),
  next_continuation_token: z.string().optional(),
});
type Page = z.infer<typeof page>;

export interface ListTimes {
  readonly first_ms: readonly number[];
  readonly last_ms: readonly number[];
  readonly sprites: number;
}

const PAGE = 50;
const PAGE_MAX = 500;
const WARM_UP = 100;

/** `rounds` of each. `prefix` may be empty. */
export async function measureList(url: string, token: string, prefix: string, rounds: number): Promise<ListTimes> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    const read = (query: string) => readText(agent, `${url}/v1/sprites?${query}`, token);
    const filter = prefix === '' ? '' : `&prefix=${prefix}`;
    const first = `max_results=${PAGE}${filter}`;
    const { last, sprites } = await findLastPage(read, filter);
    const first_ms: number[] = [];
    const last_ms: number[] = [];
    for (let round = -WARM_UP; round < rounds; round += 1) {
      for (const [query, times] of [
        [first, first_ms],
        [last, last_ms],
      ] as const) {
        const begun_ms = performance.now();
        await read(query);
        if (round >= 0) times.push(performance.now() - begun_ms);
      }
    }
    return { first_ms, last_ms, sprites };
  } finally {
    agent.destroy();
  }
}

/** The query of the last page with as many sprites as the first one has, and how many sprites there are. */
async function findLastPage(read: (query: string) => Promise<string>, filter: string) {
  let token = '';
  let left: Page = page.parse(JSON.parse(await read(`max_results=${PAGE_MAX}${filter}`)));
  let sprites = left.sprites.length;
  while (left.has_more) {
    token = `&continuation_token=${left.next_continuation_token}`;
    left = page.parse(JSON.parse(await read(`max_results=${PAGE_MAX}${filter}${token}`)));
    sprites += left.sprites.length;
  }
  let query = `max_results=${PAGE}${filter}${token}`;
  for (;;) {
    const next = page.parse(JSON.parse(await read(query)));
    if (!next.has_more) break;
    query = `max_results=${PAGE}${filter}&continuation_token=${next.next_continuation_token}`;
  }
  return { last: query, sprites };
}

function readText(agent: Agent, url: string, token: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.once('end', () => (response.statusCode === 200 ? resolve(text) : reject(new Error(text))));
      response.once('error', reject);
    });
    call.once('error', reject);
    call.end();
  });
}
