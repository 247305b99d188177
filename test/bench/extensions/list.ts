// Reading the list of extensions over HTTP: how long its first and its last page take, in turns, so that both meet the same noise.
import { z } from 'zod';

const page = z.object({
  extensions: z.array(z.object({ id: z.string() })),
  next_continuation_token: z.string().optional(),
});

export interface ExtensionListTimes {
  readonly first_ms: readonly number[];
  readonly last_ms: readonly number[];
  readonly extensions: number;
}

const PAGE = 50;
const WARM_UP = 100;

export async function measureExtensionList(url: string, token: string, rounds: number): Promise<ExtensionListTimes> {
  const read = async (query: string) => {
    const answer = await fetch(`${url}/v1/extensions?${query}`, { headers: { authorization: `Bearer ${token}` } });
    const text = await answer.text();
    if (answer.status !== 200) throw new Error(text);
    return text;
  };
  const first = `max_results=${PAGE}`;
  let last = first;
  let extensions = 0;
  for (;;) {
    const { extensions: some, next_continuation_token: next } = page.parse(JSON.parse(await read(last)));
    extensions += some.length;
    if (next === undefined) break;
    last = `${first}&continuation_token=${encodeURIComponent(next)}`;
  }
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
  return { first_ms, last_ms, extensions };
}
