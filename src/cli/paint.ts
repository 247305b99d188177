// Colours words that name a state, on a terminal only.
import { styleText } from 'node:util';
import type { Output } from './command.ts';

const tones = { good: 'green', warn: 'yellow', bad: 'red', faint: 'dim' } as const;
export type Tone = keyof typeof tones;

/** Paints the first occurrence of `word` in `line`. */
export function paint(out: Output, line: string, word: string, tone: Tone): string {
  if (!out.colours || word === '') return line;
  return line.replace(word, () => styleText(tones[tone], word, { validateStream: false }));
}
